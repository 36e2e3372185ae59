package lock

import (
	"context"
	"sync/atomic"
)

// heldTogether is what the leases of a DoMany share: a context that ends with the last of them.
type heldTogether struct {
	held atomic.Int32 // so many
	end  context.CancelCauseFunc
}

// memberOf is the place of a lease among those of a DoMany. The zero value is none.
type memberOf struct {
	all  atomic.Pointer[heldTogether]
	once atomic.Bool
}

// join makes h one of all. It may have been lost already.
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

// together returns the context of work under leases, which carries all of them, and its
// end; a nil context if there are none.
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

// finishMany ends what DoMany began. It runs deferred, so after a panic as well.
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
