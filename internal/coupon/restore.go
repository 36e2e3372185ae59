package coupon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// checkTimeout bounds the check of one coupon's shards. A loading has no such bound: each
	// of its steps has one, and a step that was done is not repeated.
	checkTimeout = 10 * time.Second
	// maxConcurrentLoads is how many coupons an instance loads at once, so that a small one
	// need not wait for a large one.
	maxConcurrentLoads = 4
)

// restorer is the state of RunRestorer. Its fields belong to one goroutine; the others, one for
// each coupon that is being loaded, send it their results.
type restorer struct {
	*Service
	onResult func(restored int, err error)
	loading  map[int64]bool // coupons that this instance is loading
	results  chan loadResult
	failing  map[int64]bool // coupons whose last check or loading failed, and 0 for their list
}

// loadResult is the result of a loading.
type loadResult struct {
	coupon   int64
	restored bool
	err      error
}

// RunRestorer checks the loaded stock until ctx ends, and loads each stock that is not intact:
//
//	heartbeat ─▶ list the coupons ─▶ are the shards as they were loaded? ─▶ no: load it, and check on
//
// It runs on every instance. onResult is called with each restored coupon and with each
// failure. While a store is unavailable it tries again, and logs that once for each coupon.
func (s *Service) RunRestorer(ctx context.Context, every time.Duration, onResult func(restored int, err error)) {
	var running sync.WaitGroup
	defer running.Wait()
	w := restorer{Service: s, onResult: onResult, loading: map[int64]bool{}, results: make(chan loadResult), failing: map[int64]bool{}}
	next := time.NewTimer(every)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.results:
			delete(w.loading, e.coupon)
			w.report(ctx, e)
		case <-next.C:
			w.check(ctx, &running)
			next.Reset(every)
		}
	}
}

// check checks each coupon that this instance is not loading, and begins to load those that
// are not intact.
func (w *restorer) check(ctx context.Context, running *sync.WaitGroup) {
	all, err := w.list(ctx)
	w.report(ctx, loadResult{err: err})
	for _, c := range all {
		if w.loading[c.ID] || ctx.Err() != nil {
			continue
		}
		sound, err := w.checkIntact(ctx, c)
		if err != nil || sound {
			w.report(ctx, loadResult{coupon: c.ID, err: err})
			continue
		}
		if len(w.loading) == maxConcurrentLoads {
			continue // a later check begins it
		}
		w.loading[c.ID] = true
		running.Go(func() {
			restored, err := w.restore(ctx, c.ID)
			select {
			case w.results <- loadResult{c.ID, restored, err}:
			case <-ctx.Done():
			}
		})
	}
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

func (w *restorer) checkIntact(ctx context.Context, c Coupon) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return w.intact(ctx, c)
}

// report reports restored coupons and failures. It is no failure that another instance
// loads the coupon or that an administrator has changed it.
func (w *restorer) report(ctx context.Context, e loadResult) {
	if ctx.Err() != nil {
		return
	}
	if errors.Is(e.err, ErrConflict) && !errors.Is(e.err, ErrForeign) {
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
	_, err = s.exclusively(ctx, id, func(ctx context.Context, c Coupon) (Coupon, error) {
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

// intact reports whether there is nothing to restore, and adds to the shards the units that a raise owes
// them: its instance may have died before it did. A draft has no stock in Redis, and that
// of an ended sale is not sold any more.
func (s *Service) intact(ctx context.Context, c Coupon) (bool, error) {
	at := c.StateAt(s.now())
	sells := at == OnSale || at == Paused
	if sells {
		loaded, err := s.shards.Loaded(ctx, c.ID, c.Epoch, c.Shards)
		if err != nil || !loaded || c.Loading {
			return false, err
		}
	}
	err := s.raise(ctx, c)
	if errors.Is(err, ErrNotLoaded) { // an instance loads it at this moment, or the sale has ended without shards
		return !sells, nil
	}
	return err == nil, err
}
