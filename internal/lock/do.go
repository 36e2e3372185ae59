package lock

import (
	"context"
	"errors"
)

// Do runs work while key is held, and releases it when work has returned, also
// by a panic. The context given to work ends with cause ErrLost if the lease is
// lost; a transaction begun on it then rolls back by itself.
//
// Do answers what work answered. A lease that was lost in the meantime does not
// change that, because the fence guards the data, nor does a release that
// failed; both are logged and counted. If work answers an ErrOutcomeUnknown, the
// key is not released: it runs out with its lease.
//
// A Do of the same key inside work, on work's context, runs at once.
func (l *Locker) Do(ctx context.Context, key string, work func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	lease, err := l.acquire(ctx, ctx, key, opts)
	if err != nil {
		return err
	}
	defer lease.finish(ctx)
	err = work(lease.Context(), lease)
	if errors.Is(err, ErrOutcomeUnknown) {
		lease.h.keep.Store(true)
	}
	return err
}

// finish ends what Do began. It runs deferred, so after a panic as well.
func (l *Lease) finish(ctx context.Context) {
	if l.nested {
		return
	}
	if l.h.keep.Load() {
		l.h.abandon()
		return
	}
	err := l.h.release(ctx)
	if err != nil && !errors.Is(err, ErrNotHeld) {
		l.h.releaseFailed(err)
	}
}

// releaseFailed counts it and goes on trying in the background, until the lease is over.
func (h *heldLease) releaseFailed(err error) {
	h.l.o.Logger.Error("lock: release failed", "key", h.key, "err", err)
	if f := h.l.o.Hooks.ReleaseFailed; f != nil {
		f(err)
	}
	h.l.cleaner.Add(h.key, h.token, h.duration, 1)
}
