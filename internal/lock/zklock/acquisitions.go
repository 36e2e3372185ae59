package zklock

import (
	"context"
	"sync"
	"time"
)

// acquisition is one acquisition of one key.
type acquisition struct{ key, token string }

// entry is the Backend's record of a claim, from before its node is created until the node is
// certain to be gone.
type entry struct {
	b           *Backend
	acquisition acquisition
	s           *session
	timer       *time.Timer // ends the lease; guarded by the mutex of the Backend

	mu       sync.Mutex
	path     string          // of the node, once it was granted
	id       int64           // of the session that it was granted to
	gone     context.Context // ends with that session, and when the entry is forgotten
	end      context.CancelFunc
	creating chan struct{} // closed when the create under way has ended; nil if there is none
}

// note begins an entry, or continues the entry of an earlier call.
func (b *Backend) note(s *session, c acquisition, lease time.Duration) (*entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	e, known := b.claims[c]
	if !known {
		e = &entry{b: b, acquisition: c, s: s}
		s.users++ // until it is forgotten
		e.timer = time.AfterFunc(lease, e.expire)
		b.claims[c] = e
	}
	e.timer.Reset(lease)
	return e, nil
}

func (b *Backend) entryOf(c acquisition) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claims[c]
}

// prolong moves the end of the lease on, and reports whether it did. It does not if the end has
// come.
func (b *Backend) prolong(e *entry, lease time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.claims[e.acquisition] != e || !e.timer.Stop() {
		return false
	}
	e.timer.Reset(lease)
	return true
}

// forget ends an entry whose node is gone.
func (b *Backend) forget(e *entry) {
	if e == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.timer.Stop()
	if b.claims[e.acquisition] == e {
		delete(b.claims, e.acquisition)
		b.leave(e.s)
		e.ended()
	}
}

// granted records a grant, and returns a context that ends when the grant has gone with its session.
func (e *entry) granted(alive context.Context, path string, id int64) context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone == nil || e.id != id {
		e.gone, e.end = context.WithCancel(alive)
	}
	e.path, e.id = path, id
	return e.gone
}

// ended ends the context of the grant, because sessions outlive their grants.
func (e *entry) ended() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end != nil {
		e.end()
	}
}

func (e *entry) grantedAs() (path string, id int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.path, e.id
}

// expire deletes the node of a lease that is over, however long that takes. Its session may live
// on, and the node would block it.
func (e *entry) expire() {
	e.b.begin(func() {
		e.mu.Lock()
		creating := e.creating
		e.mu.Unlock()
		if creating != nil {
			select {
			case <-creating:
			case <-e.b.ctx.Done():
				return
			}
		}
		if e.s.removeAtLast(e.b.ctx, e.b.held(e.acquisition.key), e.acquisition.token) == nil {
			e.b.forget(e)
		}
	})
}

// removeAtLast tries until it is certain that token has no node in dir.
func (s *session) removeAtLast(ctx context.Context, dir, token string) error {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		try, cancel := context.WithTimeout(ctx, time.Second)
		done := s.conns.Watch(try)
		err := s.remove(try, dir, token)
		done()
		cancel()
		if err == nil {
			return nil
		}
		s.b.o.Logger.Debug("zklock: cannot delete a node, trying again", "dir", dir, "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
