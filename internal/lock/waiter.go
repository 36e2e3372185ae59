package lock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// waiter asks the server for one key until it has the key, the wait is over, the context ends, or
// the server fails. There is only one waiter per process and key.
type waiter struct {
	l *Locker
	request
	ctx   context.Context // the caller's
	wait  context.Context // the same, also ended by the wait's budget
	token string
	tries int
	again bool // an earlier call had no answer, and may still arrive

	held   *HeldError // the last answer
	freed  <-chan struct{}
	cancel func()
}

// begin waits for the key. If its turn passed the key, the waiter has the key already.
func (w *waiter) begin(t turn) (Grant, time.Time, error) {
	w.again = t.again
	if t.yield {
		w.yield()
	}
	if !t.passed {
		return w.ask()
	}
	if err := w.l.answered(w.ctx, w.request, w.token, t.start, nil); err != nil {
		return Grant{}, t.start, err
	}
	return t.grant, t.start, nil
}

// ask tries. If the try fails, ask subscribes, tries again, and then sleeps between tries. In this
// order it misses no release: the second try detects a release before the subscription, and a
// release after the subscription wakes the sleeper.
func (w *waiter) ask() (Grant, time.Time, error) {
	for {
		grant, start, err := w.try()
		refused := errors.As(err, &w.held)
		w.again = w.again || grant.Again || refused && w.held.Again
		grant.Again = w.again
		if !refused || w.request.wait == 0 {
			w.unsubscribe()
			w.undo(refused)
			return grant, start, err
		}
		if w.tries == 1 && w.wait.Err() == nil && w.subscribe() {
			continue
		}
		if err := w.sleep(); err != nil {
			w.unsubscribe()
			w.leave()
			w.undo(true)
			return Grant{}, start, err
		}
	}
}

// undo frees the key that an earlier call may still take for a rejected waiter.
func (w *waiter) undo(refused bool) {
	if refused && w.again {
		w.l.cleaner.Add(w.key, w.token, w.lease, 1)
	}
}

// try asks once, until the caller's context ends. The budget of the wait does not cut a call short,
// because the key may be free. If the call goes wrong, it may have been carried out or may still be
// on its way, so the cleaner frees the key after it. A client that ignores a cancelled context
// keeps the caller until its timeout. Even then the cleanup begins at once.
func (w *waiter) try() (Grant, time.Time, error) {
	w.tries++
	start := time.Now()
	call, cancel := context.WithDeadline(w.ctx, start.Add(w.l.callTimeout(w.lease)))
	begun := make(chan struct{})
	stop := context.AfterFunc(w.ctx, func() {
		w.l.cleaner.Add(w.key, w.token, w.lease, 1)
		close(begun)
	})
	grant, err := w.call(call)
	cancel()
	if !stop() {
		<-begun
	}
	if err := w.l.answered(w.ctx, w.request, w.token, start, err); err != nil {
		return Grant{}, start, err
	}
	return grant, start, nil
}

// answered returns the result of a call that has returned err. Unless the call ended with a grant
// in time or with a rejection, it may have taken the key. Then the cleaner frees the key after it.
func (l *Locker) answered(ctx context.Context, r request, token string, start time.Time, err error) error {
	if errors.Is(err, ErrHeld) {
		l.cleaner.Drop(r.key, token)
		return err
	}
	if d, ok := ctx.Deadline(); ok && err != nil && time.Until(d) < time.Millisecond {
		<-ctx.Done() // a socket's timer may be a moment earlier than the context's
	}
	calls := 1
	switch {
	case ctx.Err() != nil: // an answer after the deadline is not a success
		err = gaveUp(ctx, r.key)
	case l.isClosed():
		err = ErrClosed
	case err != nil:
		err = unavailable("acquire", r.key, err)
		calls = 2 // backends ask once more
	case time.Since(start) >= r.lease-margin(r.lease):
		err = unavailable("acquire", r.key, errors.New("the answer took as long as the lease"))
	default:
		return nil
	}
	l.cleaner.Add(r.key, token, r.lease, calls)
	return err
}

func (w *waiter) call(ctx context.Context) (Grant, error) {
	if q, ok := w.l.backend.(FairBackend); ok && w.request.wait > 0 {
		return q.AcquireInTurn(ctx, w.key, w.token, w.lease)
	}
	return w.l.backend.Acquire(ctx, w.key, w.token, w.lease)
}

// leave gives up, in the background, the place in line of a rejected waiter. If that fails, the
// place runs out by itself.
func (w *waiter) leave() {
	if _, ok := w.l.backend.(FairBackend); ok {
		w.l.calls.Go(func() { _ = w.l.free(context.Background(), w.key, w.token) })
	}
}

// over returns the error of a wait that ended without the key.
func (w *waiter) over() error {
	if w.ctx.Err() != nil {
		return gaveUp(w.ctx, w.key)
	}
	return w.held
}

func (w *waiter) subscribe() bool {
	n, ok := w.l.backend.(Notifier)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(w.wait, w.l.o.Timeout)
	defer cancel()
	freed, stop, err := n.Subscribe(ctx, w.key, w.token)
	if err != nil {
		w.l.o.Logger.Debug("lock: cannot subscribe, polling instead", "key", w.key, "err", err)
		return false
	}
	w.freed, w.cancel = freed, stop
	return true
}

func (w *waiter) unsubscribe() {
	if w.cancel != nil {
		w.cancel()
	}
}

// sleep waits for a message, for the end of the other's lease or for the next
// poll, whichever is first.
func (w *waiter) sleep() error {
	t := time.NewTimer(w.pause())
	defer t.Stop()
	select {
	case <-w.freed:
	case <-t.C:
	case <-w.wait.Done():
		return w.over()
	case <-w.l.closing:
		return ErrClosed
	}
	return nil
}

// pause returns how long to sleep before the next try. With a subscription the sleep is long;
// without one it doubles from 4 ms. Up to half of it is random, so that the waiters of many
// processes do not ask in step.
func (w *waiter) pause() time.Duration {
	d := w.l.o.Poll
	if w.freed == nil {
		d = min(d, 4*time.Millisecond<<min(w.tries-1, 16))
	}
	d -= rand.N(d/2 + 1) //nolint:gosec // jitter, not a secret
	if r := w.held.Remaining; r > 0 {
		d = min(d, r+time.Millisecond)
	}
	return d
}
