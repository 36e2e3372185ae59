package coupon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// checkTimeout bounds a look at one coupon's shards. A loading has no such bound: each
	// of its steps has one, and what it has done need not be done again.
	checkTimeout = 10 * time.Second
	// maxConcurrentLoads is how many coupons an instance loads at once, so that a small one need
	// not wait for a large one.
	maxConcurrentLoads = 4
)

// watch is a RunRestorer at work. Its fields are used by one goroutine; the others, one for
// each coupon that is being loaded, report to it.
type restorer struct {
	*Service
	onResult func(restored int, err error)
	loading  map[int64]bool // the coupons that are being loaded here
	results  chan loadResult
	failing  map[int64]bool // where something fails: coupons, and 0 for the list of them
}

// ended is what became of a loading.
type loadResult struct {
	coupon   int64
	restored bool
	err      error
}

// RunRestorer looks after the loaded stock until ctx ends:
//
//	heartbeat ─▶ list the coupons ─▶ are the shards as they were loaded? ─▶ no: load it, while looking on
//
// It runs on every instance. did is told of what was restored and of each failure. A
// store that is away is waited for, and told in the log once.
func (s *Service) RunRestorer(ctx context.Context, every time.Duration, did func(restored int, err error)) {
	var running sync.WaitGroup
	defer running.Wait()
	w := restorer{Service: s, onResult: did, loading: map[int64]bool{}, results: make(chan loadResult), failing: map[int64]bool{}}
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

// look looks at each coupon that is not being loaded here, and begins to load those that
// are not sound.
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
			continue // its turn comes
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

// list lists the coupons, after a heartbeat: which ends their epochs if the database was
// set back.
func (w *restorer) list(ctx context.Context) ([]Coupon, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := w.Heartbeat(ctx); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	all, err := w.loader.Loaded(ctx)
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

// tell tells what was restored and what has failed. That another instance loads a coupon,
// or a person has altered it, is no failure.
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
		e.err = fmt.Errorf("look after coupon %d: %w", e.coupon, e.err)
	}
	if len(w.failing) == 0 {
		w.log.WarnContext(ctx, "the loaded stock cannot be looked after", "error", e.err)
	}
	w.failing[e.coupon] = true
	w.onResult(0, e.err)
}

// restore loads a coupon again whose shards are not as they were loaded: then what Redis
// still has or has forgotten counts no more, and the database alone says what is left. It
// says whether it did. While a shard does not answer, nothing is begun: the others sell on.
func (s *Service) restore(ctx context.Context, id int64) (restored bool, err error) {
	_, err = s.exclusively(ctx, id, func(ctx context.Context, c Coupon) (Coupon, error) {
		// Another may have loaded it while this one waited for its turn.
		if sound, err := s.intact(ctx, c); err != nil || sound {
			return c, err
		}
		began := time.Now()
		s.log.WarnContext(ctx, "the stock in Redis is lost, old or half loaded: loading it again",
			"coupon", c.ID, "epoch", c.Epoch, "begun", c.Loading)
		c, err := s.load(ctx, c, false)
		if err == nil {
			restored = true
			s.log.InfoContext(ctx, "the stock is loaded again", "coupon", c.ID, "epoch", c.Epoch,
				"state", c.State, "left", c.Left, "took", time.Since(began))
		}
		return c, err
	})
	return restored, err
}

// sound says whether there is nothing to restore. Of a draft nothing is loaded, and
// what has ended is not sold any more.
func (s *Service) intact(ctx context.Context, c Coupon) (bool, error) {
	if at := c.StateAt(s.now()); at != OnSale && at != Paused {
		return true, nil
	}
	loaded, err := s.shards.Loaded(ctx, c.ID, c.Epoch, c.Shards)
	return loaded && !c.Loading, err
}
