package report_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
)

// fenced returns a result of two holders and their writes, in which the database refuses the later write.
func fenced(first, second string) harness.Result {
	r := sample()
	write := func(n int, actor, fence, note string) harness.Event {
		return harness.Event{
			N: n, Actor: actor, Server: harness.Database, Kind: harness.Write, Note: note,
			What: "UPDATE prices SET cents = 1, fence = " + fence + " WHERE id = 1 AND fence <= " + fence,
		}
	}
	r.Cases[0].Spans, r.Cases[0].Chinese = nil, nil
	r.Cases[0].Events = []harness.Event{
		{N: 0, Actor: "one", Server: harness.Redis, Kind: harness.Acquire, What: "LOCK", Note: "fence " + first},
		{N: 1, Actor: "two", Server: harness.Redis, Kind: harness.Acquire, What: "LOCK", Note: "fence " + second},
		write(2, "two", second, "1 row"),
		write(3, "one", first, "0 rows"),
	}
	return r
}

func TestDrawing_LongFences_AreShortAndCompared(t *testing.T) {
	for name, tc := range map[string]struct{ first, second, says, seen string }{
		"four digits tell them apart": {"1795651588796476", "1795651588858044", "fence …8044, larger", "…8044"},
		"five digits tell them apart": {"1795651588718044", "1795651588858044", "fence …58044, larger", "…58044"},
		"a small fence is whole":      {"1", "2", "fence 2, larger", "2"},
		"the same fence twice":        {"0", "0", "fence 0, not larger", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			drawing, err := report.Drawing(fenced(tc.first, tc.second), "en")
			require.NoError(t, err)
			require.Contains(t, drawing, ">"+tc.says+"<")
			require.Contains(t, drawing, ">✔ refused: the database has seen "+tc.seen+"<")
			require.NotRegexp(t, `[0-9]{12}`, drawing)
		})
	}
}

func TestDrawing_RefusedWrite_IsMarkedAsRefused(t *testing.T) {
	for name, want := range map[string]int{
		"stale-holder": 1, "redlock-clock": 1, "compare-and-set-aba": 1, "version-beside-lock": 1,
		"after-lock-wait-timeout": 0, // an update that changes nothing is not refused
	} {
		r, err := lab.Recording(name)
		require.NoError(t, err)
		for language, says := range map[string]string{"en": "✔ refused: ", "zh": "✔ 被拒："} {
			drawing, err := report.Drawing(r, language)
			require.NoError(t, err)
			require.Equal(t, want, strings.Count(drawing, `<div class="step write refused"`), name)
			require.Equal(t, want, strings.Count(drawing, says), name)
			require.NotRegexp(t, `>[^<]*[0-9]{12}`, drawing, name)
			var text strings.Builder
			require.NoError(t, report.Text(&text, r, language))
			require.Equal(t, want, strings.Count(text.String(), says), name)
		}
	}
}

// The cases of an experiment are drawn in groups. Each part names its case, so that the page can show one of them.
func TestDrawing_CasesInSeveralGroups_AreNumberedThrough(t *testing.T) {
	r, err := lab.Recording("read-before-lock")
	require.NoError(t, err)
	drawing, err := report.Drawing(r, "en")
	require.NoError(t, err)
	for n := range r.Cases {
		heads := regexp.MustCompile(`<div class="part heads k[0-9] [a-z]+" data-case="` + string(rune('0'+n)) + `">`)
		require.Len(t, heads.FindAllString(drawing, -1), 1, "case %d", n)
	}
	require.Equal(t, strings.Count(drawing, `<div class="part`), strings.Count(drawing, ` data-case="`))
}
