package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
)

// coded is the sample with its source.
func coded() harness.Result {
	r := sample()
	r.Place = &harness.Place{File: "internal/order/place.go", Code: "err = tx(<ctx>)", Why: harness.NewText("unlock after that", "之后才解锁")}
	r.Code = []harness.Block{{File: "internal/tools/lab/sample.go", Lines: []harness.Line{
		{Text: "\tbuy := func() {", Folded: true},
		{Text: "\t\ta.Unlock(<k>)", Wrong: true},
		{Text: "\t\ta.SQL(what)", Wrong: true, Right: true, Differs: true},
		{Text: "\t\ta.Log()", Wrong: true, Right: true},
		{Text: "\t}", Folded: true},
		{Text: "\tplay(buy)", Folded: true},
	}}}
	return r
}

func TestCode_LockThatProgramDoesNotUse_SaysSo(t *testing.T) {
	r := coded()
	text, err := report.Code(r)
	require.NoError(t, err)
	require.Contains(t, text, "Done right in this program: unlock after that")
	require.NotContains(t, text, "Not in this program")
	r.Place.Absent = true
	text, err = report.Code(r)
	require.NoError(t, err)
	require.Contains(t, text, "Not in this program, because unlock after that")
	require.Contains(t, text, "本程序没有用到，因为之后才解锁")
	require.NotContains(t, text, "Done right in this program")
	require.Contains(t, text, "err = tx(&lt;ctx&gt;)")
}

func TestHTML_Code_IsBesideTheDrawing(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, report.HTML(&page, []harness.Result{coded(), sample()}))
	text := page.String()
	for _, part := range []string{
		`<h4>internal/tools/lab/sample.go</h4>`,
		"<li class=\"bad\" data-sign=\"✘\">\t\ta.Unlock(&lt;k&gt;)</li>",
		"<li class=\"differs\" data-sign=\"≠\">\t\ta.SQL(what)</li>",
		"<li>\t\ta.Log()</li>",
		"⋯ 1 left out", "⋯ 2 left out", "⋯ 略去 2 行",
		"✘ run by the wrong case alone", "≠ 两者都执行，但做的事不同",
		"err = tx(&lt;ctx&gt;)", "unlock after that", "之后才解锁",
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "✔ run by", "a sign that no line has")
	require.NotContains(t, text, "play(buy)")
	require.Equal(t, 1, strings.Count(text, `<section class="code">`), "what has no source shows none")
}
