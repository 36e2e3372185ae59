package lock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// batch is one acquisition of several keys, each of which has entered the local queue.
type batch struct {
	l   *Locker
	ctx context.Context // the caller's
	request
	token string
	keys  []string
}

// taken is the outcome of one key of a batch.
type taken struct {
	h   *heldLease
	err error
}

// acquire asks once for all keys. A key that it did not get has left the local queue.
func (b *batch) acquire(backend Batcher) []taken {
	answers, start := b.ask(backend)
	all := make([]taken, len(b.keys))
	var held []*heldLease
	for i, key := range b.keys {
		r, grant := b.request, answers[i].Grant
		r.key = key
		err := b.l.answered(b.ctx, r, b.token, start, answers[i].Err)
		var refused *HeldError
		if errors.As(err, &refused) && refused.Again {
			b.l.cleaner.Add(key, b.token, r.lease, 1) // an earlier call may still arrive
		}
		if all[i].err = err; err != nil {
			continue
		}
		all[i].h = newHeldLease(b.ctx, b.l, r, b.token, grant, start)
		held = append(held, all[i].h)
	}
	if len(held) > 0 && !b.l.watch(held...) {
		for i := range all {
			if all[i].h != nil {
				all[i] = taken{err: ErrClosed}
			}
		}
	}
	for i, key := range b.keys {
		if all[i].err != nil {
			b.l.queue.leave(key, turn{})
		}
	}
	return all
}

// ask makes the one call. If the caller gives up meanwhile, the cleanup begins at once, as for a
// single key.
func (b *batch) ask(backend Batcher) ([]Result, time.Time) {
	start := time.Now()
	call, cancel := context.WithDeadline(b.ctx, start.Add(b.l.callTimeout(b.lease)))
	defer cancel()
	begun := make(chan struct{})
	stop := context.AfterFunc(b.ctx, func() {
		for _, key := range b.keys {
			b.l.cleaner.Add(key, b.token, b.lease, 1)
		}
		close(begun)
	})
	answers := backend.AcquireMany(call, b.keys, b.token, b.lease)
	if !stop() {
		<-begun
	}
	if h := b.l.o.Hooks; h.Waited != nil || h.Tried != nil {
		for range b.keys {
			h.waited(time.Since(start), 1)
		}
	}
	return answers, start
}

// renew makes one call for leases of one acquisition.
func (l *Locker) renew(all []*heldLease) []error {
	h := all[0]
	ctx, cancel := context.WithTimeout(context.Background(), l.callTimeout(h.duration))
	defer cancel()
	if len(all) == 1 {
		return []error{l.backend.Renew(ctx, h.key, h.token, h.duration)}
	}
	return l.backend.(Batcher).RenewMany(ctx, keysOf(all), h.token, h.duration)
}

func keysOf(all []*heldLease) []string {
	keys := make([]string, len(all))
	for i, h := range all {
		keys[i] = h.key
	}
	return keys
}

// heldTogether is shared by the leases of a DoMany. Its context ends with the last of them.
type heldTogether struct {
	held atomic.Int32 // the number of leases still held
	end  context.CancelCauseFunc
}

// memberOf links a lease to its DoMany. The zero value belongs to none.
type memberOf struct {
	all  atomic.Pointer[heldTogether]
	once atomic.Bool
}

// join makes h a member of all. h may have been lost already.
func (h *heldLease) join(all *heldTogether) {
	h.of.all.Store(all)
	if h.ctx.Err() != nil {
		h.of.left(context.Cause(h.ctx))
	}
}

func (m *memberOf) left(cause error) {
	if all := m.all.Load(); all != nil && !m.once.Swap(true) {
		all.leave(cause)
	}
}

func (t *heldTogether) leave(cause error) {
	if t.held.Add(-1) == 0 {
		t.end(cause)
	}
}

// together returns the context of the work under leases, and the function that ends it. The context
// carries all of the leases. It is nil if there are none.
func together(ctx context.Context, leases []*Lease) (context.Context, context.CancelCauseFunc) {
	t := &heldTogether{}
	outer, _ := ctx.Value(heldKey{}).(*chain)
	all := outer.held()
	for _, lease := range leases {
		if lease != nil {
			all = &chain{lease.h, all}
			t.held.Add(1)
		}
	}
	if t.held.Load() == 0 {
		return nil, nil
	}
	ctx, t.end = context.WithCancelCause(context.WithValue(ctx, heldKey{}, all))
	for _, lease := range leases {
		switch {
		case lease == nil:
		case lease.nested: // it belongs to others
			context.AfterFunc(lease.h.ctx, func() { t.leave(context.Cause(lease.h.ctx)) })
		default:
			lease.h.join(t)
		}
	}
	return ctx, t.end
}

// finishMany ends a DoMany: it releases the leases, and lets the leases with an unknown outcome run
// out. It runs deferred, so also after a panic.
func (l *Locker) finishMany(ctx context.Context, leases []*Lease, end context.CancelCauseFunc) {
	defer end(ErrNotHeld)
	var toRelease []*Lease
	for _, lease := range leases {
		switch {
		case lease == nil || lease.nested:
		case lease.h.keep.Load():
			lease.h.abandon()
		default:
			toRelease = append(toRelease, lease)
		}
	}
	for i, err := range l.ReleaseMany(ctx, toRelease) {
		if unanswered(err) {
			toRelease[i].h.releaseFailed(err)
		}
	}
}
