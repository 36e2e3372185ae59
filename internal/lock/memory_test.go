package lock_test

import (
	"context"
	"sync"
	"time"

	"example.com/seckill/internal/lock"
)

// memory is the smallest honest backend: a map, one clock, one counter.
type memory struct {
	mu    sync.Mutex
	keys  map[string]entry
	fence uint64

	acquires, renews, releases int
	broken                     func(call string) error // nil: nothing is broken
}

type entry struct {
	token string
	fence uint64
	until time.Time
}

func newMemory() *memory { return &memory{keys: map[string]entry{}} }

func (m *memory) live(key string) (entry, bool) {
	e, ok := m.keys[key]
	return e, ok && time.Now().Before(e.until)
}

func (m *memory) fails(call string, count *int) error {
	*count++
	if m.broken != nil {
		return m.broken(call)
	}
	return nil
}

func (m *memory) Acquire(_ context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fails("acquire", &m.acquires); err != nil {
		return lock.Grant{}, err
	}
	e, ok := m.live(key)
	if ok && e.token != token {
		return lock.Grant{}, &lock.HeldError{Key: key, Remaining: time.Until(e.until)}
	}
	if !ok {
		m.fence++
		e = entry{token: token, fence: m.fence}
	}
	e.until = time.Now().Add(lease)
	m.keys[key] = e
	return lock.Grant{Fence: e.fence}, nil
}

func (m *memory) Renew(_ context.Context, key, token string, lease time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fails("renew", &m.renews); err != nil {
		return err
	}
	e, ok := m.live(key)
	if !ok || e.token != token {
		return lock.ErrNotHeld
	}
	e.until = time.Now().Add(lease)
	m.keys[key] = e
	return nil
}

func (m *memory) Release(_ context.Context, key, token string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fails("release", &m.releases); err != nil {
		return err
	}
	e, ok := m.live(key)
	if !ok || e.token != token {
		return lock.ErrNotHeld
	}
	delete(m.keys, key)
	return nil
}

func (m *memory) holds(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.live(key)
	return ok
}

func (m *memory) count(which *int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *which
}
