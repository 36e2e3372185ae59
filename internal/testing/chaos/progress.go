package chaos

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress prints a line for every round as it ends.
type Progress struct {
	mu     sync.Mutex
	out    io.Writer
	total  int
	done   int
	failed int
	began  time.Time
}

// NewProgress returns a Progress for a run.
func NewProgress(out io.Writer, o Options) *Progress {
	return &Progress{out: out, total: o.withDefaults().Rounds, began: time.Now()}
}

// Round prints the line of one round.
func (p *Progress) Round(r Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	verdict := "ok"
	switch {
	case r.Failed():
		p.failed++
		verdict = "BROKEN"
	case !r.Hit:
		verdict = "not struck"
	}
	_, _ = fmt.Fprintf(p.out, "%5d/%d  %6s  %-32s seed %d  asked %4d  acknowledged %4d  settled %5.2f s  took %5.1f s  %s\n",
		p.done, p.total, time.Since(p.began).Round(time.Second), r.Cell, r.Seed, r.Asked, r.Acknowledged,
		seconds(r.Settled), r.Seconds, verdict)
	for _, problem := range r.Problems {
		_, _ = fmt.Fprintln(p.out, "       "+problem)
	}
}

// Printf prints a line of its own.
func (p *Progress) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}
