package lottery

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
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
	ranking  ranking
}

// ranking is the tickets of a draw that has begun, in the order of their ranks, until it has ended. There
// will be no other tickets, unless the database is set back to before the begin: then that is another one.
type ranking struct {
	seed    []byte
	begunAt time.Time
	all     []ranked
	epoch   int64 // of the stock that
	served  int   // so many tickets, from the first, were given units of by this instance
}

const (
	// drawRefresh is how often a draw is read that may have begun, and has not ended.
	drawRefresh = 100 * time.Millisecond
	maxDraws    = 10_000
	// queueTimeout is how long after the end of a sale the queued orders of its winners are waited for.
	queueTimeout = 30 * time.Second
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
	d, err := s.store.Draw(ctx, sale.ID, newSeed())
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
	if !d.EndedAt.IsZero() {
		known.ranking = ranking{}
	}
	k.known[d.CouponID] = known
}

// ranking returns the ranking of a draw, if keepRanking has kept it.
func (k *draws) ranking(d Draw) (ranking, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.known[d.CouponID].ranking
	return r, !r.begunAt.IsZero() && r.begunAt.Equal(d.BegunAt) && bytes.Equal(r.seed, d.Seed)
}

func (k *draws) keepRanking(couponID int64, r ranking) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[couponID]
	known.ranking = r
	k.known[couponID] = known
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

// entrantsPerRead is how many users are read at once, in the order of their ids.
const entrantsPerRead = 10_000

// drawDue reports whether the tickets of a coupon may have to be drawn. It does no I/O.
func (s *Service) drawDue(sale coupon.Coupon) bool {
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
	case closed && s.now().Before(s.draws.closedSince(sale.ID, s.now()).Add(queueTimeout)):
		return false, nil // what was queued is served, and nothing else
	case !closed && sale.StateAt(s.now()) != coupon.OnSale:
		return false, nil // it is paused, and goes on when it is not
	}
	if err := s.store.Begin(ctx, sale.ID, s.now()); err != nil {
		return false, err
	}
	if d, err = s.store.Draw(ctx, sale.ID, d.Seed); err != nil { // as it has begun
		return false, err
	}
	r, kept := s.draws.ranking(d)
	if !kept {
		r = ranking{seed: d.Seed, begunAt: d.BegunAt}
		if r.all, err = s.rankAll(ctx, d); err != nil {
			return false, err
		}
	}
	if r.epoch != sale.Epoch {
		r.epoch, r.served = sale.Epoch, 0
	}
	served, decided, over, err := s.serveRanked(ctx, sale, r, closed)
	if err != nil {
		s.draws.keepRanking(sale.ID, ranking{}) // the tickets may be others
		return false, err
	}
	r.served = served
	s.draws.keepRanking(sale.ID, r)
	if !over || decided < served {
		return false, nil
	}
	d.Entrants, d.EndedAt, d.Winners = int64(len(r.all)), s.now(), int64(served)
	if served > 0 {
		last := d.Rank(r.all[served-1].user)
		d.LastRank = hex.EncodeToString(last[:])
	}
	return true, s.store.End(ctx, d)
}

// rankAll reads every ticket and ranks its user.
func (s *Service) rankAll(ctx context.Context, d Draw) ([]ranked, error) {
	var all []ranked
	for after := int64(0); ; {
		users, err := s.store.EntrantIDs(ctx, d.CouponID, after, entrantsPerRead)
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
		if by := cmp.Compare(a.rank, b.rank); by != 0 {
			return by
		}
		x, y := d.Rank(a.user), d.Rank(b.user)
		return bytes.Compare(x[:], y[:])
	})
	return all, nil
}

// newSeed returns a new seed.
func newSeed() []byte {
	seed := make([]byte, sha256.Size)
	_, _ = rand.Read(seed) // it never fails
	return seed
}
