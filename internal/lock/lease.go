package lock

import (
	"context"
	"sync/atomic"
)

// Lease is a handle on a key that is held. A nil Lease holds nothing.
type Lease struct {
	h      *heldLease
	nested bool // taken through the context of another handle, which frees the key
	done   atomic.Bool
}

// Key is the name that was acquired; empty for a nil Lease.
func (l *Lease) Key() string {
	if l == nil {
		return ""
	}
	return l.h.key
}

// Fence is larger than that of every earlier holder; zero for a nil Lease.
func (l *Lease) Fence() uint64 {
	if l == nil {
		return 0
	}
	return l.h.fence
}

// Context ends with cause ErrLost before another caller can acquire the key, with
// ErrClosed when the Locker is closed, and with ErrNotHeld after Release. It
// carries the lease: Do and Acquire of the same key on it are re-entrant.
func (l *Lease) Context() context.Context {
	if l == nil {
		return nothingHeld
	}
	return l.h.ctx
}

// Release frees the key if it is still ours, on its own time even if ctx has
// ended. A handle that was acquired through the context of another frees
// nothing; the outermost does. A second Release answers ErrNotHeld; so does the
// first after a loss, with ErrLost joined. After ErrUnavailable it may be repeated.
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
