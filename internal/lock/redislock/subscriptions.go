package redislock

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// idleTimeout is how long a subscription outlives its last waiter.
const idleTimeout = 100 * time.Millisecond

// subscriptions listens for released keys. It has one connection per bucket in which a caller
// waits. The connection opens for the first waiter and closes a moment after the last. Where many
// callers want one key, the next one comes within that moment and finds the connection open.
//
//	waiter ─┐                      ┌─ waiter of user:42
//	waiter ─┴─ bucket 42 ◀─ Redis ─┴─ waiter of user:106
type subscriptions struct {
	client redis.UniversalClient
	log    *slog.Logger

	mu        sync.Mutex
	byChannel map[string]*subscription // by channel
}

// subscription is one subscription. The mutex of subscriptions guards waiters and idle.
type subscription struct {
	waiters map[chan struct{}]waiter
	ready   chan struct{} // closed when confirmed or failed
	err     error         // why it failed; read after ready
	sub     *redis.PubSub
	idle    *time.Timer // ends the subscription, unless there are waiters again
}

// waiter is a Redis key and the token that waits for it.
type waiter struct{ key, token string }

// means reports whether a message is for the waiter. A message names the key. In fair mode the
// token that is first in line follows the key.
func (w waiter) means(message string) bool {
	rest, ok := strings.CutPrefix(message, w.key)
	return ok && (rest == "" || rest == " "+w.token)
}

func newSubscriptions(client redis.UniversalClient, log *slog.Logger) *subscriptions {
	return &subscriptions{client: client, log: log, byChannel: map[string]*subscription{}}
}

// Subscribe returns a channel that gets a message when key is released. In fair mode token must
// also be the first in line. Subscribe returns after the server has confirmed, so the caller misses
// no message from then on.
func (b *Backend) Subscribe(ctx context.Context, key, token string) (<-chan struct{}, func(), error) {
	n := b.namesOf(key)
	freed := make(chan struct{}, 1)
	e := b.subscriptions.add(ctx, n.channel, waiter{n.lock, token}, freed)
	cancel := func() { b.subscriptions.remove(n.channel, e, freed) }
	select {
	case <-e.ready:
		if e.err != nil {
			cancel()
			return nil, nil, e.err
		}
		return freed, cancel, nil
	case <-ctx.Done():
		cancel()
		return nil, nil, ctx.Err()
	}
}

func (s *subscriptions) add(ctx context.Context, channel string, w waiter, freed chan struct{}) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byChannel[channel]
	if !ok {
		// The subscription outlives the waiter that happened to come first.
		e = &subscription{waiters: map[chan struct{}]waiter{}, ready: make(chan struct{})}
		s.byChannel[channel] = e
		go s.listen(context.WithoutCancel(ctx), channel, e)
	}
	e.waiters[freed] = w
	return e
}

// remove may be repeated. After the last waiter the subscription also goes, unless another waiter
// comes soon.
func (s *subscriptions) remove(channel string, e *subscription, freed chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := e.waiters[freed]; !there {
		return
	}
	delete(e.waiters, freed)
	switch {
	case len(e.waiters) > 0:
	case e.idle == nil:
		e.idle = time.AfterFunc(idleTimeout, func() { s.end(channel, e) })
	default:
		e.idle.Reset(idleTimeout)
	}
}

// end removes an unused subscription.
func (s *subscriptions) end(channel string, e *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(e.waiters) > 0 {
		return
	}
	if s.byChannel[channel] == e {
		delete(s.byChannel, channel)
	}
	if e.sub != nil {
		_ = e.sub.Close() // ends listen
	}
}

// listen hands messages on until the subscription is closed.
func (s *subscriptions) listen(ctx context.Context, channel string, e *subscription) {
	sub := s.client.Subscribe(ctx, channel)
	defer func() { _ = sub.Close() }()
	s.mu.Lock()
	e.sub = sub
	abandoned := s.byChannel[channel] != e // it was unused for long enough
	s.mu.Unlock()
	if abandoned {
		e.err = context.Canceled
	} else if _, e.err = sub.Receive(ctx); e.err != nil {
		s.mu.Lock()
		if s.byChannel[channel] == e {
			delete(s.byChannel, channel) // the next waiter tries afresh
		}
		s.mu.Unlock()
	}
	close(e.ready)
	if e.err != nil {
		return
	}
	for m := range sub.Channel() {
		s.notify(e, m.Payload)
	}
}

func (s *subscriptions) notify(e *subscription, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for freed, w := range e.waiters {
		if w.means(message) {
			select {
			case freed <- struct{}{}:
			default: // it knows already
			}
		}
	}
}
