package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Reader is the reader of a command's output. It may leave before the command ends, as head(1) does.
type Reader struct {
	to   io.Writer
	stop context.CancelFunc
	gone atomic.Bool
}

// WatchReader returns a context that ends when the reader of the output has gone, so that a command can remove its
// files. Without it, the signal SIGPIPE would end the process.
func (c Console) WatchReader(ctx context.Context) (context.Context, *Reader) {
	if c.Stops != nil {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the write then returns an error
	}
	ctx, stop := context.WithCancel(ctx)
	return ctx, &Reader{to: c.Out, stop: stop}
}

// Write writes to the output.
func (r *Reader) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	if err != nil {
		r.gone.Store(true)
		r.stop()
	}
	return n, err
}

// Verdict returns ErrSilent if the reader has gone, and err otherwise. It ends the context.
func (r *Reader) Verdict(err error) error {
	r.stop()
	if r.gone.Load() {
		return ErrSilent
	}
	return err
}
