package lock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Lease is a handle on a key that is held. A nil Lease holds nothing.
type Lease struct {
	h      *heldLease
	nested bool // taken through the context of another handle, which frees the key
	done   atomic.Bool
}

// Key returns the name that was acquired. It is empty for a nil Lease.
func (l *Lease) Key() string {
	if l == nil {
		return ""
	}
	return l.h.key
}

// Fence returns a number that is larger than the fence of every earlier holder. It is zero for a
// nil Lease.
func (l *Lease) Fence() uint64 {
	if l == nil {
		return 0
	}
	return l.h.fence
}

// Context returns a context that ends with cause ErrLost before another caller can acquire the key.
// It ends with ErrClosed when the Locker is closed, and with ErrNotHeld after Release. It carries
// the lease: Do and Acquire of the same key on it are re-entrant.
func (l *Lease) Context() context.Context {
	if l == nil {
		return nothingHeld
	}
	return l.h.ctx
}

// Release frees the key if it is still ours. It has a timeout of its own, so it works even if ctx
// has ended. A handle that was acquired through the context of another frees nothing; the outermost
// handle frees the key.
//
// A second Release returns ErrNotHeld. The first Release after a loss also returns ErrNotHeld, with
// ErrLost joined. After ErrUnavailable, Release may be repeated.
func (l *Lease) Release(ctx context.Context) error {
	switch {
	case l == nil:
		return ErrNotHeld
	case l.nested && l.done.Swap(true):
		return ErrNotHeld
	case l.nested:
		return l.h.lost()
	}
	return l.h.release(ctx)
}

var nothingHeld = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrNotHeld)
	return ctx
}()

// heldLease is one key that one acquisition got. Its handles share it.
type heldLease struct {
	l          *Locker
	key, token string
	fence      uint64
	duration   time.Duration
	mayArrive  bool // an earlier call of the acquisition may still arrive
	inARow     int  // how often the key was passed on in this process, without a break
	awaited    bool // other processes waited for the key when it was passed
	since      time.Time

	ctx    context.Context
	cancel context.CancelCauseFunc
	base   context.Context // from which ctx was made, without leases
	of     memberOf        // the batch, if it was acquired in one
	out    sync.Once       // leaves the local queue
	isLost atomic.Bool     // lost
	keep   atomic.Bool     // the outcome is unknown: not to be released

	released atomic.Bool // nothing is to be done any more

	mu          sync.Mutex // one release at a time
	releaseSent bool       // a release was sent and its answer did not come

	renewal // the renewer's
}

type heldKey struct{}

// newHeldLease returns the lease of a key that was acquired on ctx. It makes the context of the
// work from the request's parent.
func newHeldLease(ctx context.Context, l *Locker, r request, token string, grant Grant, start time.Time) *heldLease {
	h := &heldLease{
		l: l, key: r.key, token: token, fence: grant.Fence, duration: r.lease, mayArrive: grant.Again,
		since: time.Now(), base: withoutLeases(ctx),
	}
	h.confirm(start)
	outer, _ := ctx.Value(heldKey{}).(*chain)
	h.ctx, h.cancel = context.WithCancelCause(context.WithValue(r.parent, heldKey{}, &chain{h, outer.held()}))
	return h
}

// end ends the lease for the work that uses it.
func (h *heldLease) end(cause error) {
	h.cancel(cause)
	h.of.left(cause)
}

// chain lists the leases that the work of a context holds.
type chain struct {
	h     *heldLease
	outer *chain
}

// held returns the chain without the released leases, so that callers may build on it for ever.
func (c *chain) held() *chain {
	if c == nil {
		return nil
	}
	outer := c.outer.held()
	switch {
	case c.h.released.Load():
		return outer
	case outer == c.outer:
		return c
	default:
		return &chain{c.h, outer}
	}
}

// withoutLeases returns the context on which the first of several leases was acquired, if ctx is
// the context of the last. Otherwise it returns ctx.
func withoutLeases(ctx context.Context) context.Context {
	if c, _ := ctx.Value(heldKey{}).(*chain); c != nil && c.h.ctx == ctx {
		return c.h.base
	}
	return ctx
}

func heldIn(ctx context.Context, l *Locker, key string) *heldLease {
	c, _ := ctx.Value(heldKey{}).(*chain)
	for ; c != nil; c = c.outer {
		if c.h.l == l && c.h.key == key && !c.h.released.Load() {
			return c.h
		}
	}
	return nil
}

func (h *heldLease) reenter() (*Lease, error) {
	if err := h.lost(); err != nil {
		return nil, err
	}
	if h.ctx.Err() != nil {
		return nil, context.Cause(h.ctx)
	}
	return &Lease{h: h, nested: true}, nil
}

// lost returns ErrLost if the lease is lost. It also checks the clock, because the renewer may be a
// moment late.
func (h *heldLease) lost() error {
	if h.isLost.Load() || h.l.renewer.overdue(h) {
		return ErrLost
	}
	return nil
}

// lose ends a lease that is lost. It does not touch the key. The next in the local queue may ask
// the server, which knows best.
func (h *heldLease) lose(why string) {
	if h.markLost() {
		h.leave()
		h.reportLoss(why)
	}
}

// markLost notifies the holder, and reports whether it was the first to do so.
func (h *heldLease) markLost() bool {
	if h.isLost.Swap(true) {
		return false
	}
	h.end(ErrLost)
	return true
}

// reportLoss logs and counts a loss. It may be slow.
func (h *heldLease) reportLoss(why string) {
	h.l.o.Logger.Warn("lock: lease lost", "key", h.key, "fence", h.fence, "why", why, "held", time.Since(h.since))
	if f := h.l.o.Hooks.Lost; f != nil {
		f()
	}
}

func (h *heldLease) leave() { h.out.Do(func() { h.l.queue.leave(h.key, turn{}) }) }

// release stops the renewal, and frees the key on the server or passes it on. Only then it lets the
// next goroutine of this process in.
func (h *heldLease) release(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.beginRelease() {
		return ErrNotHeld
	}
	defer h.leave()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.l.callTimeout(h.duration))
	defer cancel()
	return h.endRelease(h.free(ctx))
}

// beginRelease stops the renewal and reports whether there is anything to release. The
// caller must hold mu until endRelease has returned.
func (h *heldLease) beginRelease() bool {
	if h.released.Load() {
		return false
	}
	first := h.l.renewer.remove(h)
	if first && h.lost() != nil { // the renewer has not seen it yet
		h.lose("over before the release")
	}
	h.end(ErrNotHeld)
	if f := h.l.o.Hooks.Held; f != nil && first {
		f(time.Since(h.since))
	}
	return true
}

// endRelease returns the result of a release whose last call returned err.
func (h *heldLease) endRelease(err error) error {
	unknown := unanswered(err)
	over := !unknown || h.isLost.Load()
	h.released.Store(over)
	if over && (h.mayArrive || unknown) {
		h.l.cleaner.Add(h.key, h.token, h.duration, 1)
	}
	switch {
	case h.isLost.Load():
		return errors.Join(ErrLost, ErrNotHeld, err)
	case err == nil:
		return nil
	case over:
		h.lose("found so at the release")
		return errors.Join(ErrLost, err)
	default:
		return unavailable("release", h.key, err)
	}
}

// unanswered reports whether err leaves the outcome of a call open.
func unanswered(err error) bool { return err != nil && !errors.Is(err, ErrNotHeld) }

// heard interprets the error of one call. If the answer to an earlier call was lost, and the lease
// cannot have run out, then "not held" means that the earlier call worked. The server may also have
// lost its data just before. No holder can tell the two cases apart.
func (h *heldLease) heard(err error) error {
	switch {
	case err == nil:
		return nil
	case unanswered(err):
		h.releaseSent = true
	case h.releaseSent && h.lost() == nil:
		return nil
	}
	return err
}

// abandon lets the key run out by itself.
func (h *heldLease) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.l.renewer.remove(h)
	h.released.Store(true)
	h.end(ErrNotHeld)
	h.leave()
}
