package lock

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Acquire takes key and returns its lease. The Locker renews the lease until Release. ctx bounds
// the wait and the calls to the server, and nothing else: it may end as soon as Acquire has
// returned. If ctx is cancelled while the server is silent, Acquire returns after Options.Timeout
// at the latest. If the server gave the key to such a call, the Locker frees it within a second.
//
// If ctx carries a lease of the same key from the same Locker, Acquire returns a handle on that
// lease. It does not call the server, and the fence is the same.
//
// Keys may be acquired hand over hand: each on the context of the lease before, which is then
// released. The new lease keeps nothing of the released one.
//
// Errors: ErrNotAcquired, ErrUnavailable, ErrClosed; on re-entry ErrLost.
func (l *Locker) Acquire(ctx context.Context, key string, opts ...Option) (*Lease, error) {
	return l.acquire(ctx, context.WithoutCancel(withoutLeases(ctx)), key, opts)
}

// CheckKey returns an error if key is empty or longer than MaxKey.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("lock: empty key")
	case len(key) > MaxKey:
		return fmt.Errorf("lock: a key of %d bytes is longer than %d", len(key), MaxKey)
	}
	return nil
}

// acquire implements Acquire. parent is the parent of the lease's context.
func (l *Locker) acquire(ctx, parent context.Context, key string, opts []Option) (*Lease, error) {
	r, err := l.newRequest(parent, key, opts)
	if err != nil {
		return nil, err
	}
	if h := heldIn(ctx, l, key); h != nil {
		return h.reenter()
	}
	if !l.begin() {
		return nil, ErrClosed
	}
	defer l.calls.Done()
	if ctx.Err() != nil {
		return nil, gaveUp(ctx, key)
	}
	wait := ctx
	if r.wait > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, r.wait)
		defer cancel()
	}
	w := waiter{l: l, request: r, ctx: ctx, wait: wait, token: rand.Text()}
	if l.o.Hooks.Waited != nil || l.o.Hooks.Tried != nil {
		began := time.Now()
		defer func() { l.o.Hooks.waited(time.Since(began), w.tries) }()
	}
	h, err := w.acquire()
	if err != nil {
		return nil, err
	}
	return &Lease{h: h}, nil
}

// acquire waits for the waiter's turn in this process, and then for the key. After an error the next waiter of this
// process has its turn.
func (w *waiter) acquire() (_ *heldLease, err error) {
	t, err := w.l.enter(w.ctx, w.wait, newPlace(w.request, w.token))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.l.queue.leave(w.key, turn{})
		}
	}()
	grant, start, err := w.begin(t)
	if err != nil {
		return nil, err
	}
	h := newHeldLease(w.ctx, w.l, w.request, w.token, grant, start)
	h.inARow, h.awaited = t.inARow, grant.Awaited
	if !w.l.watch(h) {
		return nil, ErrClosed
	}
	if grant.Gone != nil { // only now: the renewer removes what it has
		context.AfterFunc(grant.Gone, func() {
			if w.l.renewer.remove(h) { // not if it was released
				h.lose("the server took it back")
			}
		})
	}
	return h, nil
}

// watch begins the renewal of the leases of one acquisition, and reports whether it did. If the
// Locker was closed meanwhile, watch ends the leases and lets the cleaner free their keys.
func (l *Locker) watch(all ...*heldLease) bool {
	if l.renewer.add(all...) {
		return true
	}
	for _, h := range all {
		h.end(ErrClosed)
		l.cleaner.Add(h.key, h.token, h.duration, 1)
	}
	return false
}

// enter waits for the caller's turn in the queue of this process.
func (l *Locker) enter(ctx, wait context.Context, p *place) (turn, error) {
	if p.wait == 0 {
		if !l.queue.tryEnter(p.key) {
			return turn{}, &HeldError{Key: p.key}
		}
		return turn{}, nil
	}
	t, err := l.queue.enter(wait, p, l.closing)
	if err != nil {
		l.refuse(p, t)
	}
	switch {
	case err == nil || errors.Is(err, ErrClosed):
		return t, err
	case ctx.Err() != nil:
		return turn{}, gaveUp(ctx, p.key)
	default:
		return turn{}, &HeldError{Key: p.key}
	}
}

// gaveUp returns the error of a caller whose own context ended the wait.
func gaveUp(ctx context.Context, key string) error {
	err := fmt.Errorf("%w: %q: %w", ErrNotAcquired, key, ctx.Err())
	if cause := context.Cause(ctx); !errors.Is(ctx.Err(), cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

func (h Hooks) waited(d time.Duration, tries int) {
	if h.Waited != nil {
		h.Waited(d)
	}
	if h.Tried != nil {
		h.Tried(tries)
	}
}

// queue lets one goroutine of this process at a time into a key, first come first served. It calls
// no server. A key has an entry only while a caller is inside.
type queue struct {
	mu   sync.Mutex
	keys map[string]*list.List // of *place
}

// place is a caller's place in the queue of its key.
type place struct {
	request
	token string    // with which it asks the server
	turn  chan turn // has room for one
}

func newPlace(r request, token string) *place {
	return &place{request: r, token: token, turn: make(chan turn, 1)}
}

// turn is passed from a caller to the next in line. Either the next caller may now ask the server,
// or it has the key already (passed).
type turn struct {
	passed bool // the key is the caller's
	grant  Grant
	start  time.Time // of the call that passed it
	inARow int       // how often it was passed since another process could take it

	again bool // a call that passes the key to the caller may still arrive
	yield bool // other processes are to ask first
}

func newQueue() *queue { return &queue{keys: map[string]*list.List{}} }

// tryEnter enters and reports whether no caller was inside.
func (q *queue) tryEnter(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, busy := q.keys[key]; busy {
		return false
	}
	q.keys[key] = nil
	return true
}

// enter joins the queue behind earlier callers and waits for p's turn. If ctx or closing ends the
// wait, p leaves the queue, and enter returns ctx's error or ErrClosed. The turn is zero then,
// unless it arrived in the same moment. The caller must undo such a turn (refuse).
func (q *queue) enter(ctx context.Context, p *place, closing <-chan struct{}) (turn, error) {
	q.mu.Lock()
	line, busy := q.keys[p.key]
	if !busy {
		q.keys[p.key] = nil
		q.mu.Unlock()
		return turn{}, nil
	}
	if line == nil {
		line = list.New()
		q.keys[p.key] = line
	}
	at := line.PushBack(p)
	q.mu.Unlock()

	var err error
	select {
	case t := <-p.turn:
		return t, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closing:
		err = ErrClosed
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case t := <-p.turn: // it came in the same moment: the next one's
		q.next(p.key, turn{})
		return t, err
	default:
		line.Remove(at)
	}
	return turn{}, err
}

// first returns the first in line and leaves it there. It returns nil if there is none.
func (q *queue) first(key string) *place {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.front(key)
}

func (q *queue) front(key string) *place {
	if line := q.keys[key]; line != nil && line.Len() > 0 {
		return line.Front().Value.(*place)
	}
	return nil
}

// leave admits the first in line, with t.
func (q *queue) leave(key string, t turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next(key, t)
}

// leaveTo is leave with a turn that only p may have, and reports whether p has it. If p has left
// the line meanwhile, the caller behind it may ask the server.
func (q *queue) leaveTo(p *place, t turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.front(p.key) != p {
		q.next(p.key, turn{})
		return false
	}
	q.next(p.key, t)
	return true
}

func (q *queue) next(key string, t turn) {
	p := q.front(key)
	if p == nil {
		delete(q.keys, key)
		return
	}
	q.keys[key].Remove(q.keys[key].Front())
	p.turn <- t
}
