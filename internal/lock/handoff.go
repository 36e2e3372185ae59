package lock

import (
	"context"
	"errors"
	"time"
)

// Between two callers of one process a Handoffer takes a key from the one and gives it to the
// other in one call. It is done for the first in the queue, which goes on waiting meanwhile and
// may give up:
//
//	holder   ── release ─▶ pass ──────────▶ released
//	first    ── queue ──────┴── (fence) ──▶ holds        or, if there is no grant, asks by itself
//
// The other processes are not shut out. If they wait for the key, the holder frees it after maxInARow passes, and the
// first in the local queue lets them ask first. This is known as lock cohorting: https://doi.org/10.1145/2686884
const (
	// maxInARow is how often a key is passed on while another process waits for it.
	maxInARow = 16
	// handoffPause is how long a caller stays away from a key that its process has freed for
	// others. It is enough for a message to them and their call, and is lost if they are gone.
	handoffPause = 3 * time.Millisecond
)

// free takes the key from its holder: it is passed to the first in the queue of this process, or
// freed on the server. Only then is the next in the queue let in.
func (h *heldLease) free(ctx context.Context) error {
	release := func() error { return h.l.backend.Release(ctx, h.key, h.token) }
	p, ok := h.l.backend.(Handoffer)
	to := h.l.queue.first(h.key)
	switch {
	case !ok || to == nil || h.isLost.Load() || h.releaseSent:
		return h.twice(ctx, release)
	case h.awaited && h.inARow >= maxInARow:
		err := h.twice(ctx, release)
		h.out.Do(func() { h.l.queue.leave(h.key, turn{yield: err == nil}) })
		return err
	case !h.l.begin(): // nothing could undo a pass to a caller that has gone
		return h.twice(ctx, release)
	}
	defer h.l.calls.Done()
	t := turn{start: time.Now(), inARow: h.inARow + 1}
	calls := 0
	err := h.twice(ctx, func() (err error) {
		calls++
		t.grant, err = p.Handoff(ctx, h.key, h.token, to.token, to.lease)
		t.passed = err == nil
		return err
	})
	t.again = calls > 1 || unanswered(err)
	if errors.Is(err, errors.ErrUnsupported) {
		if calls == 1 { // nothing was done
			h.releaseSent, t.again = false, false
		}
		err = h.twice(ctx, release)
	}
	t.grant.Again = t.again
	if !t.passed {
		t = turn{again: t.again}
	}
	h.out.Do(func() {
		if !h.l.queue.leaveTo(to, t) {
			h.l.refuse(to, t)
		}
	})
	return err
}

// twice makes a call, and once more if it was not answered. It returns what that means.
func (h *heldLease) twice(ctx context.Context, call func() error) error {
	err := h.heard(call())
	if unanswered(err) && ctx.Err() == nil && !errors.Is(err, errors.ErrUnsupported) {
		err = h.heard(call())
	}
	return err
}

// refuse undoes a turn whose caller has given up: the key may have been passed to it, or may yet be.
func (l *Locker) refuse(p *place, t turn) {
	switch {
	case t.again:
		l.cleaner.Add(p.key, p.token, p.lease, 2)
	case t.passed:
		l.cleaner.Add(p.key, p.token, p.lease, 1)
	}
}

// yield lets the callers of other processes ask first. The wait's budget does not end it:
// the key may be free.
func (w *waiter) yield() {
	t := time.NewTimer(handoffPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.ctx.Done():
	case <-w.l.closing:
	}
}
