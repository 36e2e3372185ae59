package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/seckill/internal/api/web"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample returns a result with one of everything, and text that would be markup if it were not
// escaped.
func sample() harness.Result {
	rule := harness.NewText("orders of one <user>", "一个用户的订单")
	return harness.Result{
		Name: "sample", Title: harness.NewText("A & B", "甲与乙"), Lesson: harness.NewText("<script>alert(1)</script> `DEL <k>`", "教训"),
		Wild: harness.NewText("everywhere", "到处"), Servers: []harness.Text{harness.NewText("a private Redis", "私有的 Redis")},
		Cases: []harness.CaseResult{
			{
				Label: harness.NewText("release first", "先解锁"), Wrong: true, Anomaly: true, Actors: []string{"one", "two"},
				Chinese: map[string]string{"one": "甲", "ours": "拿到了", "LOCK <k>": "LOCK <k> 等待一个很长很长很长很长很长很长的名字"},
				Numbers: []harness.Number{{Name: rule, Value: 2, Bound: "≤ 1", Decides: true}},
				Events: []harness.Event{
					{N: 0, Actor: "one", Server: harness.Redis, Kind: harness.Acquire, What: "LOCK <k>", Note: "ours"},
					{N: 1, Actor: "two", Server: harness.Redis, Kind: harness.Acquire, What: "LOCK <k>", Waits: true},
					{N: 2, Actor: "one", Server: harness.Database, Kind: harness.Commit, What: "COMMIT", Anomaly: &rule},
				},
				Spans: []harness.Span{
					{Kind: harness.LeaseSpan, Actor: "one", Label: "k", From: 0, To: 2},
					{Kind: harness.WaitSpan, Actor: "two", Label: "LOCK <k>", From: 1, To: -1},
				},
			},
			{
				Label: harness.NewText("commit first", "先提交"), Actors: []string{"one"},
				Numbers: []harness.Number{{Name: rule, Value: 1, Bound: "≤ 1", Held: true, Decides: true}},
			},
		},
	}
}

func TestHTML_Page_IsWholeAndLoadsNothing(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, report.HTML(&page, []harness.Result{sample()}))
	text := page.String()

	require.NotContains(t, text, "<script", "what an experiment says is text")
	for _, link := range regexp.MustCompile(`(?i)(src|href|url|@import)\s*[=(]\s*["']?([^"')>\s]+)`).FindAllStringSubmatch(text, -1) {
		require.True(t, strings.HasPrefix(link[2], "#"), "it loads %s", link[0])
	}
	for _, both := range []string{"A &amp; B", "甲与乙", "release first", "先解锁", "light-dark("} {
		require.Contains(t, text, both)
	}
	require.Less(t, strings.Index(text, "release first"), strings.Index(text, "commit first"), "wrong stands above right")
	require.Equal(t, 2, strings.Count(text, `class="rows"`), "the cases beside each other in each language")
	require.NotContains(t, text, "`", "what stands between backquotes is code")
	require.Contains(t, text, "<code>DEL &lt;k&gt;</code>")
	require.Contains(t, text, web.Colours, "it has the colours of the page")
}

func TestTimeline_EachLanguage_IsRendered(t *testing.T) {
	for language, says := range map[string][]string{"en": {"one", "ours"}, "zh": {"甲", "拿到了"}} {
		var text strings.Builder
		require.NoError(t, report.Text(&text, sample(), language))
		drawing, err := report.Drawing(sample(), language)
		require.NoError(t, err)
		for _, s := range says {
			require.Contains(t, text.String(), s)
			require.Contains(t, drawing, ">"+s+"<")
		}
	}
}

func TestDrawing_AnyCase_IsWellFormedWithItsNumber(t *testing.T) {
	for language, sentence := range map[string]string{
		"en": "2 orders of one &lt;user&gt;, allowed 1", "zh": "一个用户的订单：2，最多 1",
	} {
		drawing, err := report.Drawing(sample(), language)
		require.NoError(t, err)
		require.Contains(t, drawing, `<p class="mark">▲ `+sentence+"</p>")
		require.Contains(t, drawing, "LOCK &lt;k&gt;", "a statement is whole")
		require.NotContains(t, drawing, "style=", "the page allows no style in an element")
		for d := xml.NewDecoder(strings.NewReader(drawing)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
	}
	units := sample()
	units.Cases[0].Numbers[0].Value = 3
	drawing, err := report.Drawing(units, "en")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(drawing, `<i class="unit"></i>`), "one that may be, in each case")
	require.Equal(t, 2, strings.Count(drawing, `<i class="unit over"></i>`), "two that may not")
	one := sample()
	one.Cases[0].Numbers[0].Value, one.Cases[0].Numbers[0].Bound = 1, "= 0"
	drawing, err = report.Drawing(one, "en")
	require.NoError(t, err)
	require.Contains(t, drawing, "orders of one &lt;user&gt;: 1, expected 0", "one is not told in the plural")
}

// rows returns the rows of steps of a drawing.
func rows(t *testing.T, r harness.Result) []string {
	t.Helper()
	drawing, err := report.Drawing(r, "en")
	require.NoError(t, err)
	return strings.Split(drawing, `<div class="beat">`)[3:] // after the heads and the actors
}

func TestDrawing_SameSteps_ShareARow(t *testing.T) {
	r := sample()
	steps := func(c *harness.CaseResult, whats ...string) {
		c.Actors, c.Events, c.Spans = []string{"one"}, nil, nil
		for n, what := range whats {
			c.Events = append(c.Events, harness.Event{N: n, Actor: "one", What: what})
		}
	}
	steps(&r.Cases[0], "LOCK", "UNLOCK", "COMMIT")
	steps(&r.Cases[1], "LOCK", "READ", "WRITE", "COMMIT", "UNLOCK")
	var drawn []string
	for _, row := range rows(t, r) {
		var whats []string
		for _, cell := range strings.Split(row, `<div class="part`)[1:] {
			what := regexp.MustCompile(`<code class="what">(.*?)</code>`).FindStringSubmatch(cell)
			if what == nil {
				require.Contains(t, cell, " gap")
				what = []string{"", "-"}
			}
			whats = append(whats, what[1])
		}
		drawn = append(drawn, strings.Join(whats, " "))
	}
	require.Equal(t, []string{"LOCK LOCK", "UNLOCK READ", "- WRITE", "COMMIT COMMIT", "- UNLOCK"}, drawn)
}

func TestDrawing_Bar_LastsFromFirstToLastStep(t *testing.T) {
	var lease, waits []string
	for _, row := range rows(t, sample()) {
		cell, _, _ := strings.Cut(row, `<div class="part k1`)
		lease = append(lease, regexp.MustCompile(`bar (lease[a-z ]*)"`).FindStringSubmatch(cell)[1])
		waits = append(waits, regexp.MustCompile(`class="(life[a-z ]*)"`).FindAllString(cell, -1)[1])
	}
	require.Equal(t, []string{"lease first", "lease", "lease last"}, lease)
	require.Equal(t, []string{`class="life"`, `class="life wait"`, `class="life wait"`}, waits, "what never ends is drawn to the end")
}

func TestText_Verdict_ComesFirstAndStepIsMarked(t *testing.T) {
	var out strings.Builder
	require.NoError(t, report.Text(&out, sample(), "en"))
	lines := strings.Split(out.String(), "\n")
	require.Contains(t, lines[1], "ok")
	require.Contains(t, lines[1], "wrong 2, right 1")
	require.Contains(t, out.String(), "COMMIT\n               ▲ here it goes wrong: orders of one <user>")
}

func TestJSON_Report_IsOneLineAndRoundTrips(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report.JSON(&out, sample()))
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	var back harness.Result
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, sample(), back)
}

func TestVerdict_Unexpected_IsShown(t *testing.T) {
	for want, alter := range map[string]func(r *harness.Result){
		"ok":         func(*harness.Result) {},
		"UNEXPECTED": func(r *harness.Result) { r.Cases[1].Anomaly = true },
		"not run":    func(r *harness.Result) { no := harness.NewText("no server", "没有服务器"); r.NotRun = &no },
		"FAILED":     func(r *harness.Result) { r.Failed = "it broke" },
	} {
		r := sample()
		alter(&r)
		require.True(t, strings.HasPrefix(report.Line(r, "en"), want), "%s: %s", want, report.Line(r, "en"))
	}
	r := sample()
	r.Cases[0].Anomaly = false
	require.False(t, r.AsExpected(), "a wrong that shows nothing teaches nothing")
}
