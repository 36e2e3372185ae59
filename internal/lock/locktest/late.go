package locktest

import "context"

// Late is a context that ends and whose functions (context.AfterFunc) are not run yet:
// who waits for the end of any context may find it so, for a moment.
type Late struct {
	context.Context

	ended chan struct{}
}

// NewLate is Late that has not ended.
func NewLate() Late { return Late{Context: context.Background(), ended: make(chan struct{})} }

// End ends it.
func (l Late) End() { close(l.ended) }

// Done is closed by End.
func (l Late) Done() <-chan struct{} { return l.ended }

// Err is context.Canceled after End.
func (l Late) Err() error {
	select {
	case <-l.ended:
		return context.Canceled
	default:
		return nil
	}
}

// AfterFunc is what context.AfterFunc asks of a context that is not of its own package.
func (l Late) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }
