package coupon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// checkTimeout bounds the check of one group of coupons. A loading has no such bound: each
	// of its steps has one, and a step that was done is not repeated.
	checkTimeout = 10 * time.Second
	// maxConcurrentLoads is how many coupons an instance loads at once, so that a small one
	// need not wait for a large one.
	maxConcurrentLoads = 8
	// checkGroup is how many coupons are checked together. The instance begins to load the lost ones of a group before
	// it checks the next group.
	checkGroup = 64
	// An instance checks a coupon that no buyer wants at one of sliceCount ticks. If there are few coupons, a tick
	// checks leastChecked of them.
	sliceCount   = 10
	leastChecked = 32
)

// restorer is the state of RunRestorer. Its fields belong to one goroutine, but for those of the look. One other
// goroutine looks at the coupons. A goroutine for each coupon that is being loaded sends its result.
type restorer struct {
	*Service
	every    time.Duration
	onResult func(restored int, err error)
	loading  map[int64]bool    // coupons that this instance is loading
	waiting  map[int64]waiting // coupons that are to be loaded
	again    map[int64]bool    // coupons that the next look checks in any case
	failing  map[int64]bool    // coupons whose last check or loading failed, and 0 for their list
	results  chan loadResult
	looks    chan look

	servers string // as the last look found them
	slice   int64  // that the last look has checked
}

// waiting is a coupon that is to be loaded.
type waiting struct {
	Coupon
	rank uint64 // differs between instances, so that they begin with different coupons
}

// loadResult is the result of a loading.
type loadResult struct {
	coupon   int64
	restored bool
	err      error
}

// look is one part of the result of a look.
type look struct {
	listed []Coupon // all coupons; only in the first part
	sound  []int64
	lost   []Coupon
	failed []loadResult
	last   bool
}

// RunRestorer checks the loaded stock until ctx ends, and loads each stock that is not intact:
//
//	heartbeat ─▶ list the coupons ─▶ are the shards as they were loaded? ─▶ no: it waits ─▶ load it
//
// It runs on every instance. An instance checks all coupons if a server has changed. Otherwise the instances share the
// checks: they check a coupon that is sold at each tick, and one that is idle now and then. An instance loads a few
// coupons at once. It begins the next loading when one ends, and begins with the coupons that are on sale.
//
// onResult is called with each restored coupon and with each failure. While a store is unavailable it tries again,
// and logs that once for each coupon.
func (s *Service) RunRestorer(ctx context.Context, every time.Duration, onResult func(restored int, err error)) {
	var running sync.WaitGroup
	defer running.Wait()
	w := restorer{
		Service: s, every: every, onResult: onResult,
		loading: map[int64]bool{}, waiting: map[int64]waiting{}, again: map[int64]bool{}, failing: map[int64]bool{},
		results: make(chan loadResult), looks: make(chan look),
	}
	next := time.NewTimer(every)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.results:
			delete(w.loading, e.coupon)
			w.report(ctx, e)
		case l := <-w.looks:
			w.note(ctx, l)
			if l.last {
				next.Reset(every)
			}
		case <-next.C:
			again := w.again
			w.again = map[int64]bool{}
			running.Go(func() { w.look(ctx, again) })
		}
		w.loadNext(ctx, &running)
	}
}

// look checks the coupons that are due, and sends the result in parts.
func (w *restorer) look(ctx context.Context, again map[int64]bool) {
	send := func(l look) {
		select {
		case w.looks <- l:
		case <-ctx.Done():
		}
	}
	defer send(look{last: true})
	all, err := w.list(ctx)
	send(look{listed: all, failed: []loadResult{{err: err}}})
	if err != nil {
		return
	}
	servers, asked := w.shards.Servers(ctx), w.shards.Requested()
	due := slices.Clone(all) // the receiver of the list reads it
	if servers == w.servers {
		due = w.due(ctx, all, asked, again)
	}
	now := w.now()
	slices.SortStableFunc(due, func(a, b Coupon) int { return urgency(a, now) - urgency(b, now) })
	for group := range slices.Chunk(due, checkGroup) {
		if ctx.Err() != nil {
			return
		}
		send(w.check(ctx, group))
	}
	w.servers = servers
}

// due returns the coupons that this instance checks at this tick.
func (w *restorer) due(ctx context.Context, all []Coupon, asked, again map[int64]bool) (due []Coupon) {
	parts := int64(min(sliceCount, max(1, len(all)/leastChecked)))
	slice := time.Now().UnixNano() / max(1, int64(w.every)) // the same for all instances
	passed := min(slice-w.slice, parts)
	w.slice = slice
	var shared []int64
	byID := map[int64]Coupon{}
	for i, c := range all {
		switch {
		case c.Loading || again[c.ID]:
			due = append(due, c)
		case asked[c.ID] || (slice-int64(i))%parts < max(1, passed):
			shared, byID[c.ID] = append(shared, c.ID), c
		}
	}
	claimed, err := w.shards.Claim(ctx, shared, w.every*9/10)
	if err != nil {
		claimed = shared
	}
	for _, id := range claimed {
		due = append(due, byID[id])
	}
	return due
}

// note keeps one part of the result of a look.
func (w *restorer) note(ctx context.Context, l look) {
	for _, c := range l.listed {
		if have, is := w.waiting[c.ID]; is && !c.Loading && c.Epoch > have.Epoch {
			delete(w.waiting, c.ID) // another instance has loaded it
		}
	}
	for _, c := range l.lost {
		if !w.loading[c.ID] {
			w.waiting[c.ID] = waiting{c, rand.Uint64()} //nolint:gosec // an order, and no secret
		}
	}
	for _, id := range l.sound {
		delete(w.waiting, id)
		w.report(ctx, loadResult{coupon: id})
	}
	for _, e := range l.failed {
		w.report(ctx, e)
	}
}

// loadNext begins to load the coupons that wait, the most urgent first.
func (w *restorer) loadNext(ctx context.Context, running *sync.WaitGroup) {
	for len(w.loading) < maxConcurrentLoads && len(w.waiting) > 0 && ctx.Err() == nil {
		now := w.now()
		c := slices.MinFunc(slices.Collect(maps.Values(w.waiting)), func(a, b waiting) int { return a.compare(b, now) }).Coupon
		delete(w.waiting, c.ID)
		w.loading[c.ID] = true
		running.Go(func() {
			restored, err := w.restoreFirst(ctx, c)
			select {
			case w.results <- loadResult{c.ID, restored, err}:
			case <-ctx.Done():
			}
		})
	}
}

// restoreFirst is restore, unless another instance has begun to load the coupon since it was listed: then the wait for
// the exclusion would keep other coupons waiting. The next look checks the coupon.
func (w *restorer) restoreFirst(ctx context.Context, c Coupon) (restored bool, err error) {
	is, err := w.repo.Find(ctx, c.ID)
	if err != nil {
		return false, err
	}
	if len(is) > 0 && is[0].Epoch > c.Epoch {
		return false, fmt.Errorf("%w: another instance loads it", ErrConflict)
	}
	return w.restore(ctx, c.ID)
}

// urgency is smaller the sooner a coupon is to be loaded: first those that are sold, and then those that will be.
func urgency(c Coupon, now time.Time) int {
	switch {
	case c.StateAt(now) != OnSale:
		return 2
	case now.Before(c.BeginsAt):
		return 1
	}
	return 0
}

func (e waiting) compare(other waiting, now time.Time) int {
	first := urgency(e.Coupon, now)
	if by := first - urgency(other.Coupon, now); by != 0 {
		return by
	}
	if by := e.BeginsAt.Compare(other.BeginsAt); first == 1 && by != 0 {
		return by
	}
	if e.rank < other.rank {
		return -1
	}
	return 1
}

// list lists the coupons, after a heartbeat, which ends their epochs if the database was set
// back to an older state.
func (w *restorer) list(ctx context.Context) ([]Coupon, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := w.Heartbeat(ctx); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	all, err := w.loader.Loaded(ctx, w.now())
	if err != nil {
		return nil, fmt.Errorf("list the coupons: %w", err)
	}
	return all, nil
}

// check checks a group of coupons. One that is being loaded is not intact.
func (w *restorer) check(ctx context.Context, group []Coupon) (l look) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	now := w.now()
	var ask, loaded []Coupon
	for _, c := range group {
		switch {
		case !sells(c, now):
			loaded = append(loaded, c)
		case c.Loading:
			l.lost = append(l.lost, c)
		default:
			ask = append(ask, c)
		}
	}
	is, errs := w.shards.LoadedAll(ctx, ask)
	for i, c := range ask {
		switch {
		case errs[i] != nil:
			l.failed = append(l.failed, loadResult{coupon: c.ID, err: errs[i]})
		case is[i]:
			loaded = append(loaded, c)
		default:
			l.lost = append(l.lost, c)
		}
	}
	owed := slices.DeleteFunc(slices.Clone(loaded), func(c Coupon) bool { return c.Raised == 0 })
	raised := map[int64]error{}
	for i, err := range w.shards.RaiseAll(ctx, owed) {
		raised[owed[i].ID] = err
	}
	for _, c := range loaded {
		sound, err := whole(raised[c.ID], sells(c, now))
		switch {
		case err != nil:
			l.failed = append(l.failed, loadResult{coupon: c.ID, err: err})
		case sound:
			l.sound = append(l.sound, c.ID)
		default:
			l.lost = append(l.lost, c)
		}
	}
	return l
}

// report reports restored coupons and failures. It is no failure that another instance
// loads the coupon or that an administrator has changed it.
func (w *restorer) report(ctx context.Context, e loadResult) {
	if ctx.Err() != nil {
		return
	}
	if e.err != nil && e.coupon != 0 {
		w.again[e.coupon] = true
	}
	if errors.Is(e.err, ErrConflict) && !errors.Is(e.err, ErrOtherDeployment) {
		e.err = nil
	}
	if e.err == nil {
		delete(w.failing, e.coupon)
		if e.restored {
			w.onResult(1, nil)
		}
		return
	}
	if e.coupon != 0 {
		e.err = fmt.Errorf("restore coupon %d: %w", e.coupon, e.err)
	}
	if !w.failing[e.coupon] {
		w.log.WarnContext(ctx, "stock in Redis cannot be checked or restored", "error", e.err)
	}
	w.failing[e.coupon] = true
	w.onResult(0, e.err)
}

// restore loads a coupon again if its shards are not intact, and reports whether it did. What
// Redis still has does not count then: only the database knows the units that are left. While a shard
// does not answer nothing is begun, because the others go on selling.
func (s *Service) restore(ctx context.Context, id int64) (restored bool, err error) {
	_, err = s.exclusivelyAfter(ctx, id, s.recentHeartbeat, func(ctx context.Context, c Coupon) (Coupon, error) {
		// Another instance may have loaded it while this one waited for the exclusion.
		if sound, err := s.intact(ctx, c); err != nil || sound {
			return c, err
		}
		began := time.Now()
		s.log.WarnContext(ctx, "stock in Redis is lost, old or half loaded: loading it again",
			"coupon", c.ID, "epoch", c.Epoch, "begun", c.Loading)
		c, err := s.load(ctx, c, false)
		if err == nil {
			restored = true
			s.log.InfoContext(ctx, "stock loaded again", "coupon", c.ID, "epoch", c.Epoch,
				"state", c.State, "left", c.Left, "took", time.Since(began))
		}
		return c, err
	})
	return restored, err
}

// intact reports whether there is nothing to restore. A draft has no stock in Redis, and that of an ended sale is not
// sold any more.
func (s *Service) intact(ctx context.Context, c Coupon) (bool, error) {
	sells := sells(c, s.now())
	if sells {
		loaded, err := s.shards.Loaded(ctx, c.ID, c.Epoch, c.Shards)
		if err != nil || !loaded || c.Loading {
			return false, err
		}
	}
	return whole(s.raise(ctx, c), sells)
}

// sells reports whether the coupon's units are, or may soon be, sold from its shards.
func sells(c Coupon, now time.Time) bool {
	at := c.StateAt(now)
	return at == OnSale || at == Paused
}

// whole reports whether the shards are there, by the error of the raise that gave them the units that they were owed.
// They may be owed some, because the instance of a raise may have died before it added them.
func whole(raised error, sells bool) (bool, error) {
	if errors.Is(raised, ErrNotLoaded) { // an instance loads it at this moment, or the sale has ended without shards
		return !sells, nil
	}
	return raised == nil, raised
}
