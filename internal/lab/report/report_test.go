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

	"seckill/internal/lab/harness"
	"seckill/internal/lab/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample returns a result with one of everything, and text that would be markup if it were not
// escaped.
func sample() harness.Result {
	rule := harness.NewText("orders of one <user>", "一个用户的订单")
	return harness.Result{
		Name: "sample", Title: harness.NewText("A & B", "甲与乙"), Lesson: harness.NewText("<script>alert(1)</script>", "教训"),
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

func TestThePageIsWholeAndLoadsNothing(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, report.HTML(&page, []harness.Result{sample()}))
	text := page.String()

	require.NotContains(t, text, "<script", "what an experiment says is text")
	for _, link := range regexp.MustCompile(`(?i)(src|href|url|@import)\s*[=(]\s*["']?([^"')>\s]+)`).FindAllStringSubmatch(text, -1) {
		require.True(t, strings.HasPrefix(link[2], "#"), "it loads %s", link[0])
	}
	for _, both := range []string{"A &amp; B", "甲与乙", "release first", "先解锁", "prefers-color-scheme: dark"} {
		require.Contains(t, text, both)
	}
	require.Less(t, strings.Index(text, "release first"), strings.Index(text, "commit first"), "wrong stands above right")
	require.Equal(t, 4, strings.Count(text, "<svg"), "each case in each language")
}

func TestATimelineIsToldInBothLanguages(t *testing.T) {
	for language, says := range map[string][]string{"en": {"one", "ours"}, "zh": {"甲", "拿到了"}} {
		var text, drawing strings.Builder
		require.NoError(t, report.Text(&text, sample(), language))
		require.NoError(t, report.SVG(&drawing, sample().Cases[0], language))
		for _, s := range says {
			require.Contains(t, text.String(), s)
			require.Contains(t, drawing.String(), ">"+s+"</text>")
		}
	}
	var drawing strings.Builder
	require.NoError(t, report.SVG(&drawing, sample().Cases[0], "zh"))
	require.Contains(t, drawing.String(), ">LOCK &lt;k&gt; 等待一个</text>", "a line has room for so many Chinese characters")
}

func TestADrawingIsXMLAndMarksTheMoment(t *testing.T) {
	var drawing bytes.Buffer
	require.NoError(t, report.SVG(&drawing, sample().Cases[0], "zh"))
	require.Contains(t, drawing.String(), "一个用户的订单")
	drawing.Reset()
	require.NoError(t, report.SVG(&drawing, sample().Cases[0], "en"))
	require.Contains(t, drawing.String(), `class="anomaly"`)
	for d := xml.NewDecoder(&drawing); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestTheTextSaysTheVerdictFirstAndMarksTheStep(t *testing.T) {
	var out strings.Builder
	require.NoError(t, report.Text(&out, sample(), "en"))
	lines := strings.Split(out.String(), "\n")
	require.Contains(t, lines[1], "ok")
	require.Contains(t, lines[1], "wrong 2, right 1")
	require.Contains(t, out.String(), "COMMIT\n               ▲ here it goes wrong: orders of one <user>")
}

func TestJSONIsOneLineThatCanBeReadBack(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report.JSON(&out, sample()))
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	var back harness.Result
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, sample(), back)
}

func TestTheVerdictOfWhatIsNotAsExpected(t *testing.T) {
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
