package chaos

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// span is how buyers were answered for a part of a round.
type span struct {
	began   time.Time
	took    []time.Duration // of each first request of a tap
	repeats int             // requests sent again
	lasted  time.Duration
}

// turn ends the span, begins the next, and returns the one that has ended.
func (r *record) turn() span {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, now := r.span, time.Now()
	s.lasted = now.Sub(s.began)
	r.span = span{began: now}
	return s
}

// rate is the taps a second, at least one.
func (s span) rate() float64 { return max(1, float64(len(s.took))/s.lasted.Seconds()) }

// served is how many of a hundred taps needed no second request.
func (s span) served() float64 {
	if len(s.took) == 0 {
		return 100
	}
	return max(0, 100-100*float64(s.repeats)/float64(len(s.took)))
}

// p99 is the time within which 99 of a hundred were answered.
func (s span) p99() time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	slices.Sort(s.took)
	return s.took[(len(s.took)-1)*99/100]
}

// writeFloods prints how buyers fared beside each flood.
func writeFloods(out io.Writer, all []Result) error {
	if len(all) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "\nattackers\treached\ttaps beside\tserved at once %\tp99 ms\tcalm p99 ms\thealth ms\tmemory MiB\t  \tcell")
	for _, r := range all {
		b := r.Beside
		_, _ = fmt.Fprintf(t, "%d\t%d\t%d\t%.1f\t%.0f\t%.0f\t%.0f\t%d\t  \t%s\n", b.Attackers, b.Reached, b.Taps, b.Served,
			1000*seconds(b.P99), 1000*seconds(b.Calm), 1000*seconds(b.Health), b.Memory>>20, r.Cell)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the floods: %w", err)
	}
	return nil
}
