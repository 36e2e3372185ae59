package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// budget is a request's context with the request's deadline. The timer is made on the first wait,
// which a request that is refused from memory never reaches.
type budget struct {
	request context.Context
	until   time.Time

	mu     sync.Mutex
	timed  context.Context // request, with the timer; nil before the first wait
	cancel context.CancelFunc
	ended  bool
}

// begin makes b the request's own context, not gin's, with the deadline of its route. A route that
// takes longer than the default also moves the connection's write deadline.
func (s *Server) begin(b *budget, c *gin.Context, d routePolicy) {
	takes := s.o.RequestTimeout
	if d.budget > takes {
		takes = d.budget
		conn := http.NewResponseController(c.Writer)
		// A writer without deadlines has none to move.
		_ = conn.SetWriteDeadline(time.Now().Add(takes + s.o.RequestTimeout))
	}
	b.request, b.until = c.Request.Context(), time.Now().Add(takes)
}

// end ends the context and every wait on it.
func (b *budget) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.cancel != nil {
		b.cancel()
	}
}

func (b *budget) Deadline() (time.Time, bool) {
	if earlier, ok := b.request.Deadline(); ok && earlier.Before(b.until) {
		return earlier, true
	}
	return b.until, true
}

func (b *budget) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timed == nil {
		b.timed, b.cancel = context.WithDeadline(b.request, b.until)
		if b.ended {
			b.cancel()
		}
	}
	return b.timed.Done()
}

func (b *budget) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.timed != nil:
		return b.timed.Err()
	case b.request.Err() != nil:
		return b.request.Err()
	case !time.Now().Before(b.until):
		return context.DeadlineExceeded
	case b.ended:
		return context.Canceled
	}
	return nil
}

// Value asks the context with the timer, if there is one, so that derived contexts attach to it
// directly and need no goroutine.
func (b *budget) Value(key any) any {
	b.mu.Lock()
	above := b.request
	if b.timed != nil {
		above = b.timed
	}
	b.mu.Unlock()
	return above.Value(key)
}
