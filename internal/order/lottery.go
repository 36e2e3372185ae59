package order

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
)

// With order.queue_order: lottery the first buyers of a sale are drawn, where a race would be won by the
// nearest and fastest clients:
//
//	begins_at ────────── the window ──────────▶ drawn ───────────────▶ ended ────▶ as in queue.go
//	  tap ─▶ a ticket in the database ─▶ 202      rank all tickets,
//	  (one a user, which the same key shows)      RESERVE in that order until nothing is left
//
// A ticket is a request, and a winner's goes on in enqueue as any request does: RESERVE decides which of them
// get a unit, so nothing that holds for the queue is different for a draw. It may be done by several instances
// at once, killed, and done again, as a client asks again with the same key: each request has one hold, and
// one order. A ticket's id is not the order's, and leads to it.
//
// The rank of a user is the SHA-256 hash of the seed and the user's id. The seed is written before the first
// ticket is given and shown as its hash; the draw shows it when it has ended. So the operator cannot
// choose a seed that suits the tickets, and each buyer can compute the own rank.

// Draw is the draw of a coupon.
type Draw struct {
	CouponID int64
	Seed     []byte    // 32 random bytes
	BegunAt  time.Time // from then on no ticket is given; zero: it has not begun
	EndedAt  time.Time // every winner has a row in the database; zero: it has not ended

	// Of a draw that has ended:
	Entrants int64
	Winners  int64  // given a unit, whether or not their orders came to be
	LastRank string // of the last winner, in hex; "" without one
}

// SeedHash returns the SHA-256 hash of the seed, in hex.
func (d Draw) SeedHash() string {
	sum := sha256.Sum256(d.Seed)
	return hex.EncodeToString(sum[:])
}

// Rank returns the rank of a user: the smallest is served first.
func (d Draw) Rank(userID int64) [sha256.Size]byte {
	return sha256.Sum256(strconv.AppendInt(bytes.Clone(d.Seed), userID, 10))
}

// Entrant is a ticket of a draw.
type Entrant struct {
	Order   Order // as it will be, if it is drawn, but for its id
	Decided bool  // its request has an order, or a void one
	Void    bool  // it has a void one
}

// Lottery keeps draws and their tickets.
type Lottery interface {
	// Draw returns the draw of a coupon. It makes one with the given seed if there is none.
	Draw(ctx context.Context, couponID int64, seed []byte) (Draw, error)
	// Enter writes a ticket for the user of the order, and returns the user's: this one, or an
	// earlier one. ErrDrawn if there is none and the draw has begun.
	Enter(ctx context.Context, o Order) (Order, error)
	// Entrant returns the ticket of the user with this id, or ErrNotFound.
	Entrant(ctx context.Context, id, userID int64) (Order, error)
	// Begin ends the giving of tickets: every ticket that was given is seen by what is read after it.
	Begin(ctx context.Context, couponID int64, now time.Time) error
	// EntrantIDs lists up to limit users with a ticket and an id above after, by id.
	EntrantIDs(ctx context.Context, couponID, after int64, limit int) ([]int64, error)
	// Entrants returns the tickets of these users.
	Entrants(ctx context.Context, couponID int64, users []int64) (map[int64]Entrant, error)
	// End writes the result of a draw, unless it has one.
	End(ctx context.Context, d Draw) error
}

// ErrDrawn means that the draw has begun, and no ticket is given any more.
var ErrDrawn = errors.New("order: the draw has begun")

// drawsAt returns when the tickets of a sale are drawn: after the window, but not after half of the sale.
func (s *Service) drawsAt(sale coupon.Coupon) time.Time {
	return sale.BeginsAt.Add(min(s.lotteryWindow, sale.EndsAt.Sub(sale.BeginsAt)/2))
}

// enter answers with a ticket, or queues the request once the draw has ended. While tickets are drawn a
// request without one is refused, and may be repeated.
func (s *Service) enter(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	ctx, cancel := withTimer(ctx)
	defer cancel()
	d, err := s.draw(ctx, sale)
	if err != nil {
		return Order{}, err
	}
	if !d.EndedAt.IsZero() {
		if err := s.mayBuyAfterDraw(ctx, o); err != nil {
			return Order{}, err
		}
		return s.enqueue(ctx, sale, o)
	}
	if d.BegunAt.IsZero() {
		ticket, err := s.lottery.Enter(ctx, o)
		switch {
		case err == nil && ticket.RequestID != o.RequestID:
			return Order{}, ErrLimitReached
		case err == nil:
			s.tickets.put(ticket)
			return s.showTicket(sale, ticket), nil
		case !errors.Is(err, ErrDrawn):
			return Order{}, err
		}
	}
	return Order{}, fmt.Errorf("%w: %w", ErrOverloaded, ErrDrawn)
}

// mayBuyAfterDraw refuses the request of a ticket that was not drawn: units that are added or come back later
// are sold to new requests, because an order of that one would pass over every rank before it.
func (s *Service) mayBuyAfterDraw(ctx context.Context, o Order) error {
	tickets, err := s.lottery.Entrants(ctx, o.CouponID, []int64{o.UserID})
	if err != nil {
		return err
	}
	if t, has := tickets[o.UserID]; has && t.Order.RequestID == o.RequestID && !t.Decided {
		return fmt.Errorf("%w: its ticket was not drawn", ErrVoided)
	}
	return nil
}

// showTicket returns the order of a ticket that is not drawn yet.
func (s *Service) showTicket(sale coupon.Coupon, o Order) Order {
	o.Status, o.DrawsAt = Queued, s.drawsAt(sale)
	o.PriceCents, o.ExpiresAt = sale.PriceCents, o.DrawsAt.Add(s.payWithin)
	o.Position.RetryAfter = max(time.Second, o.DrawsAt.Sub(s.now()))
	return o
}

// tickets are tickets that this instance has seen, by their ids, which are no order's. So a poll of one asks
// no store before the draw, and afterwards only for its order.
type tickets struct {
	mu  sync.Mutex
	all map[int64]Order
}

// maxTickets bounds the tickets that are known, which take some 40 MB then. Others are read from the database.
const maxTickets = 1 << 17

func (k *tickets) put(o Order) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) >= maxTickets {
		clear(k.all)
	}
	k.all[o.ID] = o
}

// get returns the ticket of the user with this id, if it is known.
func (k *tickets) get(id, userID int64) (Order, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, known := k.all[id]
	return o, known && o.UserID == userID
}

// ticket returns what became of a ticket.
func (s *Service) ticket(ctx context.Context, id, userID int64) (Order, error) {
	if s.lottery == nil {
		return Order{}, ErrNotFound
	}
	o, err := s.lottery.Entrant(ctx, id, userID)
	if err != nil {
		return Order{}, err
	}
	s.tickets.put(o)
	sale, err := s.sales.Get(ctx, o.CouponID)
	if err != nil {
		return Order{}, err
	}
	return s.resultOfTicket(ctx, sale, o)
}

// knownTicket is ticket for one that this instance has seen, and ErrNotFound for others and once its sale
// has ended so long ago that it may be archived.
func (s *Service) knownTicket(ctx context.Context, id, userID int64) (Order, error) {
	o, known := s.tickets.get(id, userID)
	if !known {
		return Order{}, ErrNotFound
	}
	sale, err := s.sales.Get(ctx, o.CouponID)
	switch {
	case err != nil:
		return Order{}, err
	case !s.now().Before(sale.EndsAt.Add(coupon.Retention)):
		return Order{}, ErrNotFound
	}
	return s.resultOfTicket(ctx, sale, o)
}

// resultOfTicket returns the order of a ticket, or the ticket as long as it has none.
func (s *Service) resultOfTicket(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	d, err := s.draw(ctx, sale) // before its order, which is there when the draw has ended
	switch {
	case err != nil:
		return Order{}, err
	case d.BegunAt.IsZero():
		return s.showTicket(sale, o), nil
	}
	if found, err := s.orders.ByRequest(ctx, o.RequestID, o.UserID); !errors.Is(err, ErrNotFound) {
		return found, err
	}
	if d.EndedAt.IsZero() {
		return s.showTicket(sale, o), nil
	}
	o.Status, o.PriceCents = NotDrawn, sale.PriceCents
	return o, nil
}

// ReadDraw returns the draw of a coupon and when it is drawn; ErrNotFound if none of this program's are.
func (s *Service) ReadDraw(ctx context.Context, couponID int64) (d Draw, drawsAt time.Time, err error) {
	if s.lottery == nil {
		return Draw{}, time.Time{}, ErrNotFound
	}
	sale, err := s.sales.Get(ctx, couponID)
	if err != nil {
		return Draw{}, time.Time{}, err
	}
	d, err = s.draw(ctx, sale)
	return d, s.drawsAt(sale), err
}
