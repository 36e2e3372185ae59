package lock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// holding is one key that one acquisition was given, shared by its handles.
type holding struct {
	l          *Locker
	key, token string
	fence      uint64
	length     time.Duration
	since      time.Time

	ctx   context.Context
	end   context.CancelCauseFunc
	out   sync.Once   // leaves the local queue
	spent atomic.Bool // lost
	keep  atomic.Bool // the outcome is unknown: not to be released

	mu    sync.Mutex // one release at a time
	freed bool
	asked bool // a release was sent and its answer did not come

	kept // the keeper's
}

type heldKey struct{}

func newHolding(parent context.Context, l *Locker, r request, token string, fence uint64, start time.Time) *holding {
	h := &holding{l: l, key: r.key, token: token, fence: fence, length: r.lease, since: time.Now()}
	h.confirm(start)
	outer, _ := parent.Value(heldKey{}).(*chain)
	h.ctx, h.end = context.WithCancelCause(context.WithValue(parent, heldKey{}, &chain{h, outer}))
	return h
}

// chain lists what is held by the work that a context was given to.
type chain struct {
	h     *holding
	outer *chain
}

func heldIn(ctx context.Context, l *Locker, key string) *holding {
	c, _ := ctx.Value(heldKey{}).(*chain)
	for ; c != nil; c = c.outer {
		if c.h.l == l && c.h.key == key {
			return c.h
		}
	}
	return nil
}

func (h *holding) reenter() (*Lease, error) {
	if err := h.lost(); err != nil {
		return nil, err
	}
	if h.ctx.Err() != nil {
		return nil, context.Cause(h.ctx)
	}
	return &Lease{h: h, nested: true}, nil
}

// lost also asks the clock: the keeper may be a moment late.
func (h *holding) lost() error {
	if h.spent.Load() || h.l.keeper.overdue(h) {
		return ErrLost
	}
	return nil
}

// lose tells the holder. The key is not touched; the next in the local queue may
// ask the server, which knows best.
func (h *holding) lose(why string) {
	if h.spent.Swap(true) {
		return
	}
	h.end(ErrLost)
	h.leave()
	h.l.o.Logger.Warn("lock: lease lost", "key", h.key, "fence", h.fence, "why", why, "held", time.Since(h.since))
	if f := h.l.o.Hooks.Lost; f != nil {
		f()
	}
}

func (h *holding) leave() { h.out.Do(func() { h.l.queue.leave(h.key) }) }

// release stops the renewal, frees the key on the server, and only then lets the
// next goroutine of this process ask.
func (h *holding) release(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.freed {
		return ErrNotHeld
	}
	first := h.l.keeper.remove(h)
	h.end(ErrNotHeld)
	defer h.leave()
	if f := h.l.o.Hooks.Held; f != nil && first {
		f(time.Since(h.since))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.l.callTimeout(h.length))
	defer cancel()
	err := h.free(ctx)
	if err != nil && !errors.Is(err, ErrNotHeld) && ctx.Err() == nil {
		err = h.free(ctx)
	}
	switch {
	case err == nil:
		h.freed = true
		return nil
	case errors.Is(err, ErrNotHeld):
		h.freed = true
		h.lose("found so at the release")
		return errors.Join(ErrLost, err)
	default:
		return unavailable("release", h.key, err)
	}
}

// free makes one call. If the answer to an earlier one was lost, and the lease
// could not have run out yet, then "not held" means that the earlier one worked: or
// else that the server lost its data just before, which no holder can tell apart.
func (h *holding) free(ctx context.Context) error {
	err := h.l.backend.Release(ctx, h.key, h.token)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, ErrNotHeld):
		h.asked = true
	case h.asked && h.lost() == nil:
		return nil
	}
	return err
}

// abandon lets the key run out by itself.
func (h *holding) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.l.keeper.remove(h)
	h.freed = true
	h.end(ErrNotHeld)
	h.leave()
}
