package lottery

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// draws are the draws that this instance knows.
type draws struct {
	mu    sync.Mutex
	known map[int64]knownDraw
}

type knownDraw struct {
	Draw

	readAt    time.Time
	missingAt time.Time // when this instance last saw that there is no draw
	closedAt  time.Time // when this instance first saw that the sale was over
	ranking   *ranking  // nil before the draw has begun, and after it has ended
}

// ranking is the tickets of a draw that has begun. There will be no other tickets, unless the database is rolled back
// to before the begin. Then begunAt differs, and the ranking is thrown away. A pass that ends early keeps it.
type ranking struct {
	seed    []byte
	begunAt time.Time
	all     []ranked // by user while they are read, and by rank after that
	ranked  bool     // all has every ticket

	epoch        int64     // of the stock that
	served       int       // so many tickets, from the first rank on, were given units of by this instance
	soldOut      bool      // the last pass found no unit in the database
	waitingSince time.Time // a ticket among them waits for a unit
}

const (
	// drawRefresh is how often a draw is read that may have begun, and has not ended.
	drawRefresh = 100 * time.Millisecond
	maxDraws    = 10_000
	// queueTimeout is how long after the end of a sale the queued orders of its winners are waited for.
	queueTimeout = 30 * time.Second
	// missingRefresh is how often the background work looks again for a draw that the first ticket may make.
	missingRefresh = 5 * time.Second
)

// MakeDraw makes the draw of a coupon, with a new seed, unless it has one. A coupon that is published with it commits
// to a seed before the first ticket.
func MakeDraw(ctx context.Context, draws Draws, couponID int64) error {
	_, err := draws.MakeDraw(ctx, couponID, newSeed())
	return err
}

// makeDraw is MakeDraw for a service, which keeps the draw.
func (s *Service) makeDraw(ctx context.Context, couponID int64) (Draw, error) {
	now := s.now()
	d, err := s.store.MakeDraw(ctx, couponID, newSeed())
	if err == nil {
		s.draws.put(d, now)
	}
	return d, err
}

// draw returns a draw as this instance has last seen it, and reads it again once it may have begun. Of
// many callers one does. It returns order.ErrNotFound if there is none.
func (s *Service) draw(ctx context.Context, sale coupon.Coupon) (Draw, error) {
	now := s.now()
	s.draws.mu.Lock()
	known, ok := s.draws.known[sale.ID]
	ok = ok && known.Seed != nil
	fresh := ok && (!known.EndedAt.IsZero() || now.Before(s.drawsAt(sale)) || now.Sub(known.readAt) < drawRefresh)
	if ok && !fresh {
		known.readAt = now // the others go on with it
		s.draws.known[sale.ID] = known
	}
	s.draws.mu.Unlock()
	if fresh {
		return known.Draw, nil
	}
	d, err := s.store.Draw(ctx, sale.ID)
	switch {
	case errors.Is(err, order.ErrNotFound):
		s.draws.putMissing(sale.ID, now)
		return Draw{}, err
	case err != nil:
		return Draw{}, err
	}
	s.draws.put(d, now)
	return d, nil
}

func (k *draws) put(d Draw, readAt time.Time) {
	k.change(d.CouponID, func(known *knownDraw) {
		known.Draw, known.readAt, known.missingAt = d, readAt, time.Time{}
		if !d.EndedAt.IsZero() {
			known.ranking = nil
		}
	})
}

// putMissing notes that a coupon has no draw.
func (k *draws) putMissing(couponID int64, at time.Time) {
	k.change(couponID, func(known *knownDraw) { *known = knownDraw{missingAt: at} })
}

func (k *draws) change(couponID int64, change func(*knownDraw)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= maxDraws {
		clear(k.known)
	}
	known := k.known[couponID]
	change(&known)
	k.known[couponID] = known
}

// missing reports whether this instance has seen, less than age ago, that a coupon has no draw.
func (k *draws) missing(couponID int64, now time.Time, age time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.known[couponID].missingAt
	return !at.IsZero() && now.Sub(at) < age
}

// ranking returns the ranking of a draw, which the caller may change. It has no tickets at first.
func (k *draws) ranking(d Draw) (r *ranking) {
	k.change(d.CouponID, func(known *knownDraw) {
		r = known.ranking
		if r == nil || !r.begunAt.Equal(d.BegunAt) || !bytes.Equal(r.seed, d.Seed) {
			r = &ranking{seed: d.Seed, begunAt: d.BegunAt}
			known.ranking = r
		}
	})
	return r
}

// dropRanking throws the ranking of a draw away.
func (k *draws) dropRanking(couponID int64) {
	k.change(couponID, func(known *knownDraw) { known.ranking = nil })
}

// closedSince returns when this instance first saw that a sale was over.
func (k *draws) closedSince(couponID int64, now time.Time) (since time.Time) {
	k.change(couponID, func(known *knownDraw) {
		if known.closedAt.IsZero() {
			known.closedAt = now
		}
		since = known.closedAt
	})
	return since
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
	if sale.Epoch == 0 || s.now().Before(s.drawsAt(sale)) || s.draws.missing(sale.ID, s.now(), missingRefresh) {
		return false
	}
	s.draws.mu.Lock()
	defer s.draws.mu.Unlock()
	return s.draws.known[sale.ID].EndedAt.IsZero()
}

// RunDraw draws the tickets of a coupon if their time has come, and reports whether all of them are drawn.
// Until it does it is to be called again: after an error, and while what it has queued is served.
func (s *Service) RunDraw(ctx context.Context, sale coupon.Coupon) (ended bool, err error) {
	return s.runDraw(ctx, sale, 0)
}

// runDraw is RunDraw that begins no further step after a time, unless that is 0. It makes at least one step, and the
// next call goes on behind its last one. So a draw that takes longer than any pass comes to its end.
func (s *Service) runDraw(ctx context.Context, sale coupon.Coupon, within time.Duration) (ended bool, err error) {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	over := stopwatch(within)
	d, err := s.draw(ctx, sale)
	switch {
	case errors.Is(err, order.ErrNotFound):
		return false, nil // there is no ticket either
	case err != nil || !d.EndedAt.IsZero() || s.now().Before(s.drawsAt(sale)):
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
	if d, err = s.store.Draw(ctx, sale.ID); err != nil { // as it has begun
		return false, err
	}
	r := s.draws.ranking(d)
	if ranked, err := s.rankTickets(ctx, d, r, over); err != nil || !ranked {
		return false, err
	}
	return s.serveRanks(ctx, sale, d, r, closed, over)
}

// stopwatch returns a function that reports whether a time is over. The time 0 is never over.
func stopwatch(within time.Duration) (over func() bool) {
	began := time.Now()
	return func() bool { return within > 0 && time.Since(began) >= within }
}

// serveRanks makes a pass over the ranking of a draw, and ends the draw if nothing is left to do.
func (s *Service) serveRanks(
	ctx context.Context, sale coupon.Coupon, d Draw, r *ranking, closed bool, over func() bool,
) (ended bool, err error) {
	if r.epoch != sale.Epoch {
		r.epoch, r.served, r.soldOut, r.waitingSince = sale.Epoch, 0, false, time.Time{}
	}
	p := pass{Service: s, sale: sale, draw: d, ranking: r, closed: closed, late: over}
	err = p.run(ctx)
	switch {
	case errors.Is(err, errTicketGone):
		s.draws.dropRanking(sale.ID)
	case p.served > 0 || p.all:
		r.served = max(r.served, p.served)
	}
	if p.settled > d.DecidedRanks {
		d.DecidedRanks = p.settled
		err = errors.Join(err, s.store.Advance(ctx, d))
	}
	if err != nil || !p.all || p.decided < p.served {
		return false, err
	}
	d.Entrants, d.EndedAt, d.Winners = int64(len(r.all)), s.now(), int64(p.served)
	if p.served > 0 {
		last := d.Rank(r.all[p.served-1].user)
		d.LastRank = hex.EncodeToString(last[:])
	}
	return true, s.store.End(ctx, d)
}

// rankTickets reads the tickets that the ranking lacks, and ranks their users when it has all. It reports whether it
// has.
func (s *Service) rankTickets(ctx context.Context, d Draw, r *ranking, over func() bool) (done bool, err error) {
	for !r.ranked {
		after := int64(0)
		if n := len(r.all); n > 0 {
			after = r.all[n-1].user
		}
		users, err := s.store.EntrantIDs(ctx, d.CouponID, after, entrantsPerRead)
		if err != nil {
			return false, err
		}
		for _, user := range users {
			rank := d.Rank(user)
			r.all = append(r.all, ranked{binary.BigEndian.Uint64(rank[:]), user})
		}
		switch {
		case len(users) == 0:
			sortByRank(d, r.all)
			r.ranked = true
		case over():
			return false, nil
		}
	}
	return true, nil
}

// sortByRank sorts users by their ranks.
func sortByRank(d Draw, all []ranked) {
	slices.SortFunc(all, func(a, b ranked) int {
		if by := cmp.Compare(a.rank, b.rank); by != 0 {
			return by
		}
		x, y := d.Rank(a.user), d.Rank(b.user)
		return bytes.Compare(x[:], y[:])
	})
}

// newSeed returns a new seed.
func newSeed() []byte {
	seed := make([]byte, sha256.Size)
	_, _ = rand.Read(seed) // it never fails
	return seed
}
