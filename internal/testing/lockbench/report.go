package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// The targets, which are for the redis backend.
const (
	tripsTarget = 1.10 // of two raw round trips, alone
	oneTarget   = 1.05 // of the sections without any lock, in one process
	fourTarget  = 1.15 // the same, between four
	sentTarget  = 2.50 // commands per acquisition
)

// report is a run.
type report struct {
	settings settings

	Environment environment   `json:"environment"`
	Bare        time.Duration `json:"bare_sections_ns"`
	Tripped     time.Duration `json:"sections_with_a_trip_ns"` // zero if it was not measured
	Rows        []row         `json:"rows"`
}

// row is one lock: medians of the rounds.
type row struct {
	Name      string  `json:"name"`
	Note      string  `json:"note,omitempty"`
	P50us     float64 `json:"p50_us"`
	P99us     float64 `json:"p99_us"`
	RawUs     float64 `json:"raw_us"`
	Trips     float64 `json:"of_two_round_trips"`
	OneMs     float64 `json:"one_process_ms"`
	One       float64 `json:"one_process_of_sections"`
	FourMs    float64 `json:"four_processes_ms"`
	Four      float64 `json:"four_processes_of_sections"`
	AloneSent float64 `json:"commands_alone"`
	OneSent   float64 `json:"commands_one_process"`
	FourSent  float64 `json:"commands_four_processes"`
	Sections  int     `json:"sections"`
	Overlaps  int64   `json:"overlaps"`

	targets bool
}

// rowOf compares each contest with what its sections took without any lock a moment
// before: a sleep is longer than it was asked to be, and no lock is to blame for that.
func rowOf(c candidate, rounds []figures) row {
	of := func(get func(figures) time.Duration) float64 { return float64(median(each(rounds, get))) }
	sent := func(get func(figures) float64) float64 { return median(each(rounds, get)) }
	r := row{
		Name: c.name, Note: c.note, targets: c.redis,
		P50us: of(func(f figures) time.Duration { return f.P50 }) / 1e3,
		P99us: of(func(f figures) time.Duration { return f.P99 }) / 1e3,
		RawUs: of(func(f figures) time.Duration { return f.Raw }) / 1e3,
		// The median of ratios, each of one round, and not the ratio of medians.
		Trips:     sent(func(f figures) float64 { return float64(f.P50) / float64(f.Raw) }),
		OneMs:     of(func(f figures) time.Duration { return f.One }) / 1e6,
		FourMs:    of(func(f figures) time.Duration { return f.Four }) / 1e6,
		AloneSent: sent(func(f figures) float64 { return f.AloneSent }),
		OneSent:   sent(func(f figures) float64 { return f.OneSent }),
		FourSent:  sent(func(f figures) float64 { return f.FourSent }),
	}
	r.One = sent(func(f figures) float64 { return float64(f.One) / float64(f.Bare) })
	r.Four = sent(func(f figures) float64 { return float64(f.Four) / float64(f.Bare) })
	for _, f := range rounds {
		r.Sections, r.Overlaps = r.Sections+f.Acquisitions, r.Overlaps+f.Overlaps
	}
	return r
}

func each[T any](rounds []figures, get func(figures) T) (all []T) {
	for _, f := range rounds {
		all = append(all, get(f))
	}
	return all
}

func median[T cmp.Ordered](all []T) T { return quantile(all, 0.5) }

// quantile is the smallest value that at least q of all do not exceed.
func quantile[T cmp.Ordered](all []T, q float64) (none T) {
	if len(all) == 0 {
		return none
	}
	all = slices.Sorted(slices.Values(all))
	return all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
}

func (r *report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) markdown(w io.Writer) error {
	var b strings.Builder
	n := r.settings.workers * r.settings.repeats
	for _, line := range r.Environment {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	fmt.Fprintf(&b, "- medians of %d rounds; contests: %d goroutines × %d sections of %v on one key, ideal %v; "+
		"the sections alone, without a lock, took %v here\n", r.settings.rounds, r.settings.workers, r.settings.repeats,
		section, time.Duration(n)*section, r.Bare.Round(time.Millisecond))
	if r.Tripped > 0 {
		fmt.Fprintf(&b, "- with one round trip to Redis after each, and no lock, they took %v: a lock that asks the server for each "+
			"holder takes no less\n", r.Tripped.Round(time.Millisecond))
	}
	b.WriteString("\n")
	b.WriteString("| lock | alone p50, µs | p99, µs | of two round trips | 1 process, ms | of no lock " +
		"| 4 processes, ms | of no lock | commands alone | 1 process | 4 processes |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, x := range r.Rows {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.2f | %.0f | %.2f | %.0f | %.2f | %.1f | %.1f | %.1f |\n",
			x.Name, x.P50us, x.P99us, x.Trips, x.OneMs, x.One, x.FourMs, x.Four, x.AloneSent, x.OneSent, x.FourSent)
	}
	b.WriteString("\n")
	for _, x := range r.Rows {
		if x.Note != "" {
			fmt.Fprintf(&b, "- %s: %s\n", x.Name, x.Note)
		}
	}
	b.WriteString("\n" + r.targets() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// targets compares the redis backend with what it should be.
func (r *report) targets() string {
	var b strings.Builder
	total := 0
	for _, x := range r.Rows {
		total += x.Sections
		if !x.targets {
			continue
		}
		for _, t := range []struct {
			what      string
			is, limit float64
		}{
			{"alone, of two raw round trips", x.Trips, tripsTarget},
			{"contest in one process, of the sections without any lock", x.One, oneTarget},
			{"contest between four processes, of the sections without any lock", x.Four, fourTarget},
			{"commands per acquisition, one process", x.OneSent, sentTarget},
			{"commands per acquisition, four processes", x.FourSent, sentTarget},
		} {
			verdict := "met"
			if t.is > t.limit {
				verdict = "not met"
			}
			fmt.Fprintf(&b, "- %s: %s: %.2f, target ≤ %.2f: %s\n", x.Name, t.what, t.is, t.limit, verdict)
		}
	}
	if err := r.verdict(); err != nil {
		return b.String() + "- " + err.Error()
	}
	return b.String() + fmt.Sprintf("- no two of %d sections overlapped", total)
}

// verdict is an error if any lock let two in. A speed is not one then.
func (r *report) verdict() error {
	var errs []error
	for _, x := range r.Rows {
		if x.Overlaps > 0 {
			errs = append(errs, fmt.Errorf("%s: %d of %d sections overlapped", x.Name, x.Overlaps, x.Sections))
		}
	}
	return errors.Join(errs...)
}
