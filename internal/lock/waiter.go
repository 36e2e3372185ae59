package lock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// waiter asks the server for one key until it is given, the wait is over, the
// context ends, or the server fails. Per process and key there is only one.
type waiter struct {
	l *Locker
	request
	ctx   context.Context // the caller's
	wait  context.Context // the same, also ended by the wait's budget
	token string
	tries int

	held   *HeldError // the last answer
	freed  <-chan struct{}
	cancel func()
}

// ask tries; if that fails it subscribes, tries again, and then sleeps between
// tries. In this order no release can be missed: one before the subscription is
// seen by the second try, one after it wakes the sleeper.
func (w *waiter) ask() (Grant, time.Time, error) {
	for {
		grant, start, err := w.try()
		if err == nil || !errors.As(err, &w.held) || w.request.wait == 0 {
			w.unsubscribe()
			return grant, start, err
		}
		if w.tries == 1 && w.subscribe() {
			continue
		}
		if err := w.sleep(); err != nil {
			w.unsubscribe()
			return Grant{}, start, err
		}
	}
}

// try asks once. The call does not run on the caller's context but beside it:
// a caller that goes away must not wait for the server, and what the call may
// still bring about has to be undone.
func (w *waiter) try() (Grant, time.Time, error) {
	type answer struct {
		Grant
		err error
	}
	w.tries++
	timeout := w.l.callTimeout(w.lease)
	call, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), timeout)
	start := time.Now()
	got, done := make(chan answer, 1), make(chan struct{})
	go func() {
		defer close(done)
		g, err := w.l.backend.Acquire(call, w.key, w.token, w.lease)
		cancel()
		got <- answer{g, err}
	}()

	var a answer
	select {
	case a = <-got:
	case <-call.Done():
		select {
		case a = <-got:
		case <-time.After(timeout / 10): // it has ended, or does not heed its context
			a.err = context.Cause(call)
		}
	case <-w.wait.Done():
		cancel()
		w.l.sweep(w.key, w.token, done)
		return Grant{}, start, w.over()
	case <-w.l.closing:
		cancel()
		w.l.sweep(w.key, w.token, done)
		return Grant{}, start, ErrClosed
	}
	switch {
	case errors.Is(a.err, ErrHeld):
		return Grant{}, start, a.err
	case a.err != nil:
		w.l.sweep(w.key, w.token, done)
		return Grant{}, start, unavailable("acquire", w.key, a.err)
	case w.wait.Err() != nil: // an answer after the deadline is no success
		w.l.sweep(w.key, w.token, done)
		return Grant{}, start, w.over()
	case time.Since(start) >= w.lease-margin(w.lease):
		w.l.sweep(w.key, w.token, done)
		return Grant{}, start, unavailable("acquire", w.key, errors.New("the answer took as long as the lease"))
	}
	return a.Grant, start, nil
}

// over is the error of a wait that ended without the key.
func (w *waiter) over() error {
	switch {
	case w.ctx.Err() != nil:
		return gaveUp(w.ctx, w.key)
	case w.held != nil:
		return w.held
	default: // the server has not said a word
		return unavailable("acquire", w.key, context.DeadlineExceeded)
	}
}

func (w *waiter) subscribe() bool {
	n, ok := w.l.backend.(Notifier)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(w.wait, w.l.o.Timeout)
	defer cancel()
	freed, stop, err := n.Subscribe(ctx, w.key)
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

// pause is how long to sleep before the next try. With a subscription that is
// long; without one it doubles from 4 ms. Up to half of it is left to chance, so
// that the waiters of many processes do not ask in step.
func (w *waiter) pause() time.Duration {
	d := w.l.o.Poll
	if w.freed == nil {
		d = min(d, 4*time.Millisecond<<min(w.tries-1, 16))
	}
	d -= rand.N(d/2 + 1)
	if r := w.held.Remaining; r > 0 {
		d = min(d, r+time.Millisecond)
	}
	return d
}
