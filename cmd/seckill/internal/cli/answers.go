package cli

import (
	"bufio"
	"context"
	"io"
)

// answers reads what is typed until ctx ends: a read of a terminal cannot be interrupted, and is left.
type answers struct {
	ctx context.Context
	in  io.Reader
}

func (a *answers) Read(p []byte) (int, error) {
	type typed struct {
		text []byte
		err  error
	}
	said := make(chan typed, 1)
	go func() {
		text := make([]byte, len(p))
		n, err := a.in.Read(text)
		said <- typed{text[:n], err}
	}()
	select {
	case <-a.ctx.Done():
		return 0, a.ctx.Err()
	case t := <-said:
		return copy(p, t.text), t.err
	}
}

// Answers returns a reader of what is typed, whose reads end with ctx.
func (c Console) Answers(ctx context.Context) *bufio.Reader {
	return bufio.NewReader(&answers{ctx: ctx, in: c.Input()})
}
