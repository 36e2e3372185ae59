package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// sameStop is how soon after the first signal another one is taken for the same: a wrapper such as
// timeout(1) signals its child, and then the group that the child is in.
const sameStop = 500 * time.Millisecond

// Stops turns signals into the end of the program:
//
//	SIGINT, SIGTERM  the first ends the command in order, one after that ends the process at once
//	SIGHUP           as those; serve ignores it, because there is nothing to read again
type Stops struct {
	serving atomic.Bool
	undone  atomic.Pointer[func() string]
}

// Serve makes the process outlive its terminal and the reader of its log: SIGHUP is ignored, and so
// is SIGPIPE, which would end it when it writes to a log whose pipe was closed. undone returns what
// an end at once would leave undone.
func (s *Stops) Serve(undone func() string) {
	if s == nil {
		return // a test calls the command
	}
	s.serving.Store(true)
	s.undone.Store(&undone)
	// Not signal.Ignore, which the processes that this one starts would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// Watch returns a context that ends with the first signal. With the second one it calls end, which
// gets what is left undone.
func (s *Stops) Watch(ctx context.Context, signals <-chan os.Signal, end func(undone string)) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		var first time.Time
		for got := range signals {
			switch {
			case got == syscall.SIGHUP && s.serving.Load():
			case ctx.Err() == nil:
				first = time.Now()
				cancel()
			case time.Since(first) < sameStop:
			default:
				undone := "what was under way is left as it was"
				if f := s.undone.Load(); f != nil {
					undone = (*f)()
				}
				end(undone)
			}
		}
	}()
	return ctx
}
