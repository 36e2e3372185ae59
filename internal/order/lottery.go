package order

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"seckill/internal/coupon"
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
// ticket is given and shown as its hash; it is told when the draw has ended. So the operator cannot
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
	d, err := s.draw(ctx, sale)
	if err != nil {
		return Order{}, err
	}
	if !d.EndedAt.IsZero() {
		return s.enqueue(ctx, sale, o)
	}
	if d.BegunAt.IsZero() {
		ticket, err := s.lottery.Enter(ctx, o)
		switch {
		case err == nil && ticket.RequestID != o.RequestID:
			return Order{}, ErrLimitReached
		case !errors.Is(err, ErrDrawn):
			return s.showTicket(sale, ticket), err
		}
	}
	return Order{}, fmt.Errorf("%w: %w", ErrOverloaded, ErrDrawn)
}

// showTicket returns the order of a ticket that is not drawn yet.
func (s *Service) showTicket(sale coupon.Coupon, o Order) Order {
	o.Status, o.DrawsAt = Queued, s.drawsAt(sale)
	o.PriceCents, o.ExpiresAt = sale.PriceCents, o.DrawsAt.Add(s.payWithin)
	o.Position.RetryAfter = max(time.Second, o.DrawsAt.Sub(s.now()))
	return o
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
	sale, err := s.sales.Get(ctx, o.CouponID)
	if err != nil {
		return Order{}, err
	}
	d, err := s.draw(ctx, sale) // before its order, which is there when the draw has ended
	if err != nil {
		return Order{}, err
	}
	if found, err := s.orders.ByRequest(ctx, o.RequestID, userID); !errors.Is(err, ErrNotFound) {
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

// draws are the draws that this instance knows.
type draws struct {
	mu    sync.Mutex
	known map[int64]knownDraw
}

type knownDraw struct {
	Draw

	readAt   time.Time
	closedAt time.Time // when this instance first saw that the sale was over
}

const (
	// drawRefresh is how often a draw is read that may have begun, and has not ended.
	drawRefresh = 100 * time.Millisecond
	maxDraws    = 10_000
)

// draw returns a draw as this instance has last seen it, and reads it again once it may have begun. Of
// many callers one does.
func (s *Service) draw(ctx context.Context, sale coupon.Coupon) (Draw, error) {
	now := s.now()
	s.draws.mu.Lock()
	known, ok := s.draws.known[sale.ID]
	fresh := ok && (!known.EndedAt.IsZero() || now.Before(s.drawsAt(sale)) || now.Sub(known.readAt) < drawRefresh)
	if ok && !fresh {
		known.readAt = now // the others go on with it
		s.draws.known[sale.ID] = known
	}
	s.draws.mu.Unlock()
	if fresh {
		return known.Draw, nil
	}
	d, err := s.lottery.Draw(ctx, sale.ID, newSeed())
	if err != nil {
		return Draw{}, err
	}
	s.draws.put(d, now)
	return d, nil
}

func (k *draws) put(d Draw, readAt time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= maxDraws {
		clear(k.known)
	}
	known := k.known[d.CouponID]
	known.Draw, known.readAt = d, readAt
	k.known[d.CouponID] = known
}

// closedSince returns when this instance first saw that a sale was over.
func (k *draws) closedSince(couponID int64, now time.Time) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[couponID]
	if known.closedAt.IsZero() {
		known.closedAt = now
		k.known[couponID] = known
	}
	return known.closedAt
}

// ranked is a user in a draw, by the first bytes of the rank: a million of them are 16 MB.
type ranked struct {
	rank uint64
	user int64
}

// winnersPerRead is how many tickets are read at once, in the order of their ranks; entrantsPerRead how many
// users are, in the order of their ids.
const (
	winnersPerRead  = 100
	entrantsPerRead = 10_000
)

// DrawDue reports whether the tickets of a coupon may have to be drawn. It does no I/O.
func (s *Service) DrawDue(sale coupon.Coupon) bool {
	if sale.Epoch == 0 || s.now().Before(s.drawsAt(sale)) {
		return false
	}
	s.draws.mu.Lock()
	defer s.draws.mu.Unlock()
	return s.draws.known[sale.ID].EndedAt.IsZero()
}

// RunDraw draws the tickets of a coupon if their time has come, and reports whether all of them are drawn.
// Until it does it is to be called again: after an error, and while what it has queued is served.
func (s *Service) RunDraw(ctx context.Context, sale coupon.Coupon) (ended bool, err error) {
	d, err := s.draw(ctx, sale)
	if err != nil || !d.EndedAt.IsZero() || s.now().Before(s.drawsAt(sale)) {
		return err == nil && !d.EndedAt.IsZero(), err
	}
	closed := sale.State == coupon.Ended || !s.now().Before(sale.EndsAt)
	switch {
	case closed && s.now().Before(s.draws.closedSince(sale.ID, s.now()).Add(inDoubtTimeout)):
		return false, nil // what was queued is served, and nothing else
	case !closed && sale.StateAt(s.now()) != coupon.OnSale:
		return false, nil // it is paused, and goes on when it is not
	}
	if err := s.lottery.Begin(ctx, sale.ID, s.now()); err != nil {
		return false, err
	}
	all, err := s.rankAll(ctx, d)
	if err != nil {
		return false, err
	}
	d.Entrants, d.EndedAt = int64(len(all)), s.now()
	waiting, err := s.serveRanked(ctx, sale, &d, all, closed)
	if err != nil || waiting > 0 {
		return false, err
	}
	return true, s.lottery.End(ctx, d)
}

// rankAll reads every ticket and ranks its user.
func (s *Service) rankAll(ctx context.Context, d Draw) ([]ranked, error) {
	var all []ranked
	for after := int64(0); ; {
		users, err := s.lottery.EntrantIDs(ctx, d.CouponID, after, entrantsPerRead)
		if err != nil {
			return nil, err
		}
		if len(users) == 0 {
			break
		}
		for _, user := range users {
			rank := d.Rank(user)
			all = append(all, ranked{binary.BigEndian.Uint64(rank[:]), user})
		}
		after = users[len(users)-1]
	}
	slices.SortFunc(all, func(a, b ranked) int {
		if a.rank != b.rank {
			if a.rank < b.rank {
				return -1
			}
			return 1
		}
		x, y := d.Rank(a.user), d.Rank(b.user)
		return bytes.Compare(x[:], y[:])
	})
	return all, nil
}

// serveRanked queues the tickets in the order of their ranks until nothing is left to sell, and returns of
// how many the outcome is not in the database yet. It counts the winners in d.
func (s *Service) serveRanked(ctx context.Context, sale coupon.Coupon, d *Draw, all []ranked, closed bool) (waiting int, err error) {
	for page := range slices.Chunk(all, winnersPerRead) {
		users := make([]int64, len(page))
		for i, r := range page {
			users[i] = r.user
		}
		tickets, err := s.lottery.Entrants(ctx, sale.ID, users)
		if err != nil {
			return waiting, err
		}
		for _, user := range users {
			t := tickets[user]
			if !t.Decided {
				if closed {
					return waiting, nil
				}
				switch err := s.serveTicket(ctx, sale, t.Order); {
				case errors.Is(err, coupon.ErrSoldOut):
					return waiting, nil
				case errors.Is(err, ErrBusy): // an earlier call is at a sibling, or its entry is
					return waiting + 1, nil
				case err != nil:
					return waiting, err
				}
				waiting++
			}
			rank := d.Rank(user)
			d.Winners, d.LastRank = d.Winners+1, hex.EncodeToString(rank[:])
		}
	}
	return waiting, nil
}

// fullQueuePause is how long a full queue is waited for.
const fullQueuePause = 10 * time.Millisecond

// serveTicket queues the order of a ticket, again if it was queued before. It waits while the queue is full:
// the next may not be served before.
func (s *Service) serveTicket(ctx context.Context, sale coupon.Coupon, o Order) error {
	for empty := 0; ; {
		id, err := s.ids.Next(ctx) // each attempt has its own: another drawer may be at it
		if err != nil {
			return fmt.Errorf("%w: get an order id: %w", ErrUnavailable, err)
		}
		now := s.now().UTC().Truncate(time.Millisecond)
		o.ID, o.Status, o.PriceCents, o.CreatedAt, o.ExpiresAt = id, Queued, sale.PriceCents, now, now.Add(s.payWithin)
		_, err = s.enqueueAlone(ctx, sale, o)
		switch {
		case errors.Is(err, coupon.ErrSoldOut):
			// Another drawer may have taken the last unit for this ticket a moment ago: then the next
			// answer says so.
			if empty++; empty == 2 {
				return err
			}
			continue
		case errors.Is(err, ErrOverloaded):
		case errors.Is(err, ErrDuplicate), errors.Is(err, ErrCommitUnknown), errors.Is(err, ErrVoided):
			return nil // its row is on its way, or there
		case errors.Is(err, ErrLimitReached), errors.Is(err, ErrCooldown), errors.Is(err, ErrKeyReused):
			if err := s.orders.Void(ctx, o); !errors.Is(err, ErrDuplicate) {
				return err
			}
			return nil
		case errors.Is(err, ErrStaleEpoch):
			s.sales.Forget(sale.ID)
			return err
		default:
			return err
		}
		select {
		case <-time.After(fullQueuePause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// newSeed returns a new seed.
func newSeed() []byte {
	seed := make([]byte, sha256.Size)
	_, _ = rand.Read(seed) // it never fails
	return seed
}
