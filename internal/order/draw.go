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
	"sync"
	"time"

	"seckill/internal/coupon"
)

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
