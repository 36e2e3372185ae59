package locktest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/seckill/internal/lock"
)

// gate counts the holders inside. An unguarded counter would prove nothing: the race
// detector takes every call on a socket for synchronisation.
type gate struct {
	t  testing.TB
	mu sync.Mutex

	inside, most, passed int
}

// pass goes in, runs f, and goes out. Two inside at once fail the test.
func (g *gate) pass(f func()) {
	g.mu.Lock()
	g.inside++
	g.most = max(g.most, g.inside)
	if g.inside > 1 {
		g.t.Errorf("%d are inside at once", g.inside)
	}
	g.mu.Unlock()
	f()
	g.mu.Lock()
	g.inside--
	g.passed++
	g.mu.Unlock()
}

// passUnder goes through while l holds key.
func (g *gate) passUnder(l *lock.Locker, key string) {
	assert.NoError(g.t, l.Do(g.t.Context(), key, func(context.Context, *lock.Lease) error {
		g.pass(func() {})
		return nil
	}))
}

// together starts n goroutines at one signal and waits for all.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
