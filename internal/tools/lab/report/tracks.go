package report

import (
	"slices"

	"example.com/seckill/internal/tools/lab/harness"
)

// tracks are the bars of a case beside the lines of its actors.
type tracks struct {
	c      harness.CaseResult
	row    []int   // the row of each event
	ends   [][]int // by actor: of each track, the row in which its last span ends
	placed []place // by span
}

// place is where a span is drawn: from one row to another, in a track of its actor.
type place struct{ actor, track, from, to int }

// trackKinds is the order of the bars, from the left; the rest of the spans are on the line itself.
var trackKinds = []harness.SpanKind{harness.LeaseSpan, harness.TxSpan, harness.InsideSpan}

// newTracks places the spans of case i. Spans of an actor that overlap stand beside each other.
func newTracks(c harness.CaseResult, i int, rows [][]int) tracks {
	t := tracks{c: c, row: make([]int, len(c.Events)), ends: make([][]int, len(c.Actors)), placed: make([]place, len(c.Spans))}
	for at, row := range rows {
		if row[i] != none {
			t.row[row[i]] = at
		}
	}
	for n, s := range c.Spans {
		t.placed[n] = place{actor: slices.Index(c.Actors, s.Actor), track: none, from: t.row[s.From], to: len(rows)}
		if s.To >= 0 {
			t.placed[n].to = t.row[s.To]
		}
	}
	for _, kind := range trackKinds {
		first := make([]int, len(c.Actors)) // of the tracks of this kind
		for a := range first {
			first[a] = len(t.ends[a])
		}
		for n, s := range c.Spans {
			if s.Kind == kind && t.placed[n].actor >= 0 {
				t.put(n, first[t.placed[n].actor])
			}
		}
	}
	return t
}

// put places a span in the first free track from first on.
func (t *tracks) put(span, first int) {
	p := &t.placed[span]
	ends := t.ends[p.actor]
	p.track = first
	for p.track < len(ends) && ends[p.track] > p.from {
		p.track++
	}
	if p.track == len(ends) {
		ends = append(ends, 0)
	}
	ends[p.track] = p.to
	t.ends[p.actor] = ends
}

// at returns the lanes of a row, without their step.
func (t *tracks) at(row int, language string) []lane {
	lanes := make([]lane, len(t.c.Actors))
	for a := range lanes {
		lanes[a] = lane{Bars: make([]bar, len(t.ends[a])), Line: "life"}
	}
	for n, p := range t.placed {
		s := t.c.Spans[n]
		switch {
		case p.actor < 0 || row < p.from || row > p.to:
		case p.track == none:
			if row < p.to {
				lanes[p.actor].Line = "life wait"
			}
		default:
			b := &lanes[p.actor].Bars[p.track]
			b.Title = spanName(t.c, s, language)
			b.Class = join(b.Class, string(s.Kind), row == p.from, row == p.to)
		}
	}
	return lanes
}

// join returns the class of a bar. Where one ends in the row in which the next begins, both are seen.
func join(was, kind string, first, last bool) string {
	switch {
	case was != "" && first:
		return kind + " again"
	case first && last:
		return kind + " first last"
	case first:
		return kind + " first"
	case last:
		return kind + " last"
	}
	return kind
}

func spanName(c harness.CaseResult, s harness.Span, language string) string {
	name := kindName(s.Kind, language)
	if s.Kind == harness.LeaseSpan {
		name += " · " + c.Told(s.Label, language)
	}
	return name
}
