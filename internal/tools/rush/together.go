package rush

import (
	"context"
	"sync"
	"time"
)

// together is the taps that one buyer makes at once. The worker that serves the buyer goes on to the
// next one as soon as one tap has its outcome and no other has a request under way. A second tap that
// the server told to come back later would otherwise hold the worker, and the generator would measure
// its own waiting. All methods may be called on nil, which is a single tap.
type together struct {
	mu      sync.Mutex
	sending int // taps whose request is under way
	ended   int // taps with an outcome
	gone    bool
	free    chan struct{} // is closed when the worker may go on
}

func newTogether(n int) *together { return &together{sending: n, free: make(chan struct{})} }

// end notes that a tap has its outcome.
func (b *together) end() { b.change(-1, 1) }

// change adds to the taps that send and to those that ended. It reports whether the worker has gone on.
func (b *together) change(sending, ended int) (gone bool) {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sending += sending
	b.ended += ended
	if !b.gone && b.sending == 0 && b.ended > 0 {
		b.gone = true
		close(b.free)
	}
	return b.gone
}

// backoff waits before the next try of a tap, without the worker if another tap has ended.
func (r *run) backoff(ctx context.Context, t *tap, try int, after time.Duration) bool {
	t.together.change(-1, 0)
	goesOn := t.backoff(ctx, try, after)
	t.late = t.together.change(1, 0)
	return goesOn
}
