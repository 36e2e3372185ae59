package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

//go:embed drawing.html
var drawingText string

// drawing is the template of a drawing.
var drawing = template.Must(template.New("drawing").Funcs(template.FuncMap{"prose": prose}).Parse(drawingText))

// Drawing draws the cases of an experiment as sequence diagrams in HTML. Each actor has a column, time runs
// downwards, and spans are vertical bars. A step that the cases share stands in the same row of each case.
// If an experiment has too many cases to draw, they are the rows of a table. Text wraps, so a drawing is as
// wide as its place. Its style is in drawing.css of the page.
func Drawing(r harness.Result, language string) (string, error) {
	var out strings.Builder
	if err := drawing.Execute(&out, newFigure(r, language)); err != nil {
		return "", fmt.Errorf("draw %s: %w", r.Name, err)
	}
	return out.String(), nil
}

// figure is the data of the template: the cases as rows of a table, or as sequences.
type figure struct {
	Language  string
	Table     []side
	Kinds     []legend // the bars that it has
	Sequences []sequence
}

// sequence is a group of cases that are drawn side by side.
type sequence struct {
	Cases []side
	Rows  [][]cell
}

// legend is a kind of bar and its name.
type legend struct{ Kind, Name string }

// side is the head of one case.
type side struct {
	At      int // its place in its row
	Case    int // its number among all cases
	Wrong   bool
	Side    string
	Label   string
	NotRun  string
	Numbers []number
	Actors  []string
	Crowded bool // more actors than fit side by side on a phone
}

// number is a rule and its count.
type number struct {
	Name, Bound   string
	Value         int64
	Held, Decides bool
	Units         []string // a class for each counted unit, if the units are few
}

// cell is the content of one row of a case: at most one step, and the spans that last meanwhile.
type cell struct {
	At      int // the place of its case in its row
	Case    int // the number of its case among all cases
	N       int // the number of the event
	Wrong   bool
	Gap     bool // the case has no step here
	Crowded bool
	Time    string
	Lanes   []lane
	Broken  string // the rule that this step broke, as a sentence
}

// lane is the column of one actor.
type lane struct {
	Bars []bar
	Line string // the class of the actor's line
	Step *step
}

// bar is a part of a span, as high as the row.
type bar struct{ Class, Title string }

type step struct {
	Class, Who, What, Note, Title string
}

// abreast is the largest number of cases that are drawn side by side. More cases go in pairs.
const abreast = 3

func newFigure(r harness.Result, language string) figure {
	f := figure{Language: language}
	if Many(r) {
		f.Table = newSides(r.Cases, 0, language)
		return f
	}
	size := 2
	if len(r.Cases) <= abreast {
		size = abreast
	}
	first := 0
	for some := range slices.Chunk(r.Cases, size) {
		f.Sequences = append(f.Sequences, newSequence(some, first, language))
		first += len(some)
	}
	for _, kind := range []harness.SpanKind{harness.LeaseSpan, harness.TxSpan, harness.InsideSpan, harness.WaitSpan} {
		has := func(c harness.CaseResult) bool {
			return slices.ContainsFunc(c.Spans, func(s harness.Span) bool { return s.Kind == kind })
		}
		if slices.ContainsFunc(r.Cases, has) {
			f.Kinds = append(f.Kinds, legend{string(kind), kindName(kind, language)})
		}
	}
	return f
}

// newSides returns the heads of cases that stand side by side. The number of the first one is first.
func newSides(cases []harness.CaseResult, first int, language string) (all []side) {
	for i, c := range cases {
		one := newSide(c, i, language)
		one.Case = first + i
		all = append(all, one)
	}
	return all
}

func newSequence(cases []harness.CaseResult, first int, language string) sequence {
	s := sequence{Cases: newSides(cases, first, language)}
	rows := align(cases)
	beside := make([]tracks, len(cases))
	for i, c := range cases {
		beside[i] = newTracks(c, i, rows)
	}
	for at, row := range rows {
		var cells []cell
		for i, n := range row {
			if cases[i].NotRun == nil {
				one := newCell(cases[i], i, n, beside[i].at(at, language), language)
				one.Case = first + i
				cells = append(cells, one)
			}
		}
		s.Rows = append(s.Rows, cells)
	}
	return s
}

func kindName(kind harness.SpanKind, language string) string {
	return map[harness.SpanKind]string{
		harness.LeaseSpan:  word(language, "lease: the server lets no other in", "租约：服务端不放别人进来"),
		harness.TxSpan:     word(language, "transaction", "事务"),
		harness.InsideSpan: word(language, "at work", "工作中"),
		harness.WaitSpan:   word(language, "waits", "等待"),
	}[kind]
}

// crowded is the number of actors that do not fit side by side on a phone.
const crowded = 3

func newSide(c harness.CaseResult, at int, language string) side {
	s := side{
		At: at, Wrong: c.Wrong, Side: caseName(c, language), Label: c.Label.In(language), Crowded: len(c.Actors) >= crowded,
	}
	if c.NotRun != nil {
		s.NotRun = c.NotRun.In(language)
	}
	for _, n := range c.Numbers {
		s.Numbers = append(s.Numbers, number{
			Name: n.Name.In(language), Bound: n.Bound, Value: n.Value, Held: n.Held, Decides: n.Decides, Units: units(n),
		})
	}
	for _, name := range c.Actors {
		s.Actors = append(s.Actors, c.Told(name, language))
	}
	return s
}

// fewUnits is the largest number of units that are drawn individually.
const fewUnits = 10

// units returns the class of each unit that a rule counted. The units above its bound are over.
func units(n harness.Number) (all []string) {
	_, bound, found := strings.Cut(n.Bound, " ")
	most, err := strconv.ParseInt(bound, 10, 64)
	if !found || err != nil || !n.Decides || n.Value > fewUnits {
		return nil
	}
	for i := range n.Value {
		all = append(all, map[bool]string{true: "unit", false: "unit over"}[i < most])
	}
	return all
}

// newCell returns the cell of case i in a row. The event n of the case is in that row; n is none if the row
// has no event of the case.
func newCell(c harness.CaseResult, i, n int, lanes []lane, language string) cell {
	one := cell{At: i, N: n, Wrong: c.Wrong, Gap: n == none, Crowded: len(c.Actors) >= crowded, Lanes: lanes}
	if n == none {
		return one
	}
	e := c.Events[n]
	one.Time = milliseconds(e.AtMS)
	if e.Anomaly != nil {
		one.Broken = sentence(c, *e.Anomaly, language)
	}
	if actor := slices.Index(c.Actors, e.Actor); actor >= 0 {
		one.Lanes[actor].Step = newStep(c, e, language)
	}
	return one
}

func newStep(c harness.CaseResult, e harness.Event, language string) *step {
	class := []string{string(e.Kind)}
	if e.Waits {
		class = append(class, "waits")
	}
	if e.Failed {
		class = append(class, "failed")
	}
	if _, refused := refusal(c, e); refused {
		class = append(class, "refused")
	}
	if e.Anomaly != nil {
		class = append(class, "wrong")
	}
	return &step{
		Class: strings.Join(class, " "), Who: c.Told(e.Actor, language), What: whatOf(c, e, language), Note: noteOf(c, e, language),
		Title: fmt.Sprintf("%.1f ms · %s", e.AtMS, server(e.Server, language)),
	}
}

// milliseconds returns a time with its significant digits.
func milliseconds(ms float64) string {
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 0, 64)
}

// sentence describes a broken rule with its number: "2 orders of one user, allowed 1".
func sentence(c harness.CaseResult, rule harness.Text, language string) string {
	name := rule.In(language)
	n := slices.IndexFunc(c.Numbers, func(n harness.Number) bool { return n.Name == rule })
	if n < 0 {
		return name
	}
	number := c.Numbers[n]
	limit, most := strings.CutPrefix(number.Bound, "≤ ")
	limit = strings.TrimPrefix(limit, "= ")
	if language == "zh" {
		return fmt.Sprintf("%s：%d，%s %s", name, number.Value, map[bool]string{true: "最多", false: "应为"}[most], limit)
	}
	must := map[bool]string{true: "allowed", false: "expected"}[most]
	if number.Value == 1 { // the names of rules are in the plural
		return fmt.Sprintf("%s: 1, %s %s", name, must, limit)
	}
	return fmt.Sprintf("%d %s, %s %s", number.Value, name, must, limit)
}

// prose returns a text as HTML, with the parts between backquotes as code.
func prose(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		out.WriteString(part)
	}
	return template.HTML(out.String()) //nolint:gosec // escaped above
}
