package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"seckill/internal/lab/harness"
)

// The measures of a drawing, in pixels.
const (
	margin   = 96   // left of the first column, for the actors' names
	shared   = 1300 // what the columns share on a wide screen
	narrow   = 80   // the least width of a column
	wide     = 116  // the greatest
	char     = 6.7  // the width of a character under an event
	lane     = 118  // the height of an actor
	above    = 34   // over the first lane, for the mark of the anomaly
	dot      = 5    // the radius of an event
	maxLines = 4
)

// SVG draws a case: a lane for each actor, a column for each event, from left to right in the order
// of time. Colours come from the page by class: without its style, the drawing has none.
func SVG(w io.Writer, c harness.CaseResult, language string) error {
	d := &drawing{c: c, language: language, column: min(wide, max(narrow, shared/max(1, len(c.Events))))}
	d.width, d.height = margin+d.column*len(c.Events)+24, above+lane*len(c.Actors)+8
	d.printf(`<svg class="timeline" role="img" viewBox="0 0 %d %d" width="%d" height="%d" xmlns="http://www.w3.org/2000/svg">`,
		d.width, d.height, d.width, d.height)
	d.printf("<title>%s</title>", html.EscapeString(side(c, language)+": "+c.Label.In(language)))
	for n, name := range c.Actors {
		y := d.lane(n)
		d.printf(`<line class="lane" x1="%d" y1="%d" x2="%d" y2="%d"/>`, margin-12, y, d.width-12, y)
		d.printf(`<text class="actor" x="8" y="%d">%s</text>`, y+4, html.EscapeString(c.Told(name, language)))
	}
	d.anomaly()
	for _, s := range c.Spans {
		d.span(s)
	}
	for _, e := range c.Events {
		d.event(e)
	}
	d.printf("</svg>")
	if _, err := io.WriteString(w, d.out.String()); err != nil {
		return fmt.Errorf("draw the timeline: %w", err)
	}
	return nil
}

type drawing struct {
	c             harness.CaseResult
	language      string
	column        int // the width of an event
	width, height int
	out           strings.Builder
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

// lane returns the height of the line of an actor's events.
func (d *drawing) lane(actor int) int { return above + lane*actor + 36 }

func (d *drawing) x(event int) int { return margin + d.column*event + d.column/2 }

// bars is where a span of each kind is drawn, above or below the line.
var bars = map[harness.SpanKind]int{harness.LeaseSpan: -26, harness.TxSpan: -15, harness.InsideSpan: 9}

// span draws a bar from one event to another, or to the end.
func (d *drawing) span(s harness.Span) {
	y := d.lane(slices.Index(d.c.Actors, s.Actor))
	from, to := d.x(s.From), d.width-14
	class := string(s.Kind)
	if s.To >= 0 {
		to = d.x(s.To)
	} else {
		class += " open"
	}
	if s.Kind == harness.WaitSpan {
		d.printf(`<line class="wait" x1="%d" y1="%d" x2="%d" y2="%d"><title>%s</title></line>`,
			from, y, to, y, html.EscapeString(word(d.language, "waits: ", "等待：")+d.c.Told(s.Label, d.language)))
		return
	}
	d.printf(`<rect class="bar %s" x="%d" y="%d" width="%d" height="9" rx="4"><title>%s</title></rect>`,
		class, from, y+bars[s.Kind], max(to-from, 6), html.EscapeString(d.spanName(s)))
}

func (d *drawing) spanName(s harness.Span) string {
	name := map[harness.SpanKind]string{
		harness.LeaseSpan: word(d.language, "lease", "租约"), harness.TxSpan: word(d.language, "transaction", "事务"),
		harness.InsideSpan: word(d.language, "at work", "工作中"),
	}[s.Kind]
	if s.Kind == harness.LeaseSpan {
		name += " " + s.Label
	}
	return name
}

// anomaly draws a line through all lanes, below everything else, and what went wrong.
func (d *drawing) anomaly() {
	for _, e := range d.c.Events {
		if e.Anomaly == nil {
			continue
		}
		x := d.x(e.N)
		d.printf(`<line class="anomaly" x1="%d" y1="22" x2="%d" y2="%d"/>`, x, x, d.height-4)
		anchor := "middle"
		switch {
		case e.N < 3:
			anchor, x = "start", margin
		case e.N > len(d.c.Events)-4:
			anchor, x = "end", d.width-14
		}
		d.printf(`<text class="anomaly" x="%d" y="14" text-anchor="%s">▼ %s</text>`, x, anchor, html.EscapeString(e.Anomaly.In(d.language)))
	}
}

func (d *drawing) event(e harness.Event) {
	n := slices.Index(d.c.Actors, e.Actor)
	if n < 0 {
		return
	}
	actor, what, note := d.c.Told(e.Actor, d.language), d.c.Told(e.What, d.language), d.c.Told(e.Note, d.language)
	x, y := d.x(e.N), d.lane(n)
	class := "event " + string(e.Kind)
	if e.Waits {
		class += " waits"
	}
	if e.Failed {
		class += " failed"
	}
	if e.Anomaly != nil {
		class += " wrong"
	}
	d.printf(`<g class="%s"><title>%s</title><circle cx="%d" cy="%d" r="%d"/>`, class,
		html.EscapeString(fmt.Sprintf("%.1f ms · %s · %s · %s  %s", e.AtMS, actor, server(e.Server, d.language), what, note)), x, y, dot)
	top := y + 32
	under := func(class, text string, most int) {
		for _, line := range label(text, most, d.room(e)) {
			d.printf(`<text class="%s" x="%d" y="%d">%s</text>`, class, x, top, html.EscapeString(line))
			top += 12
		}
	}
	under("what", what, maxLines-1)
	under("note", note, 2)
	d.printf("</g>")
}

// room returns how many characters fit under an event: more if its neighbours' columns are free in
// its lane.
func (d *drawing) room(e harness.Event) int {
	free := func(n int) bool { return n >= 0 && n < len(d.c.Events) && d.c.Events[n].Actor != e.Actor }
	fits := int(float64(d.column) / char)
	if free(e.N-1) && free(e.N+1) {
		return fits * 3 / 2
	}
	return fits
}

// label breaks a text into at most so many lines of so many columns, and cuts it with an ellipsis
// if it is longer.
func label(text string, lines, room int) (all []string) {
	line := ""
	for _, piece := range pieces(text) {
		for word := strings.TrimSpace(piece); columns(word) > room+2; piece = word {
			r := []rune(word)
			all, line, word = appendLine(all, line), string(r[:room]), string(r[room:])
			all, line = appendLine(all, line), ""
		}
		if columns(strings.TrimSpace(line+piece)) > room {
			all, line = appendLine(all, line), ""
		}
		line += piece
	}
	all = appendLine(all, line)
	if len(all) > lines {
		all = all[:lines]
		all[lines-1] += "…"
	}
	return all
}

func appendLine(all []string, line string) []string {
	if line = strings.TrimSpace(line); line == "" {
		return all
	}
	return append(all, line)
}
