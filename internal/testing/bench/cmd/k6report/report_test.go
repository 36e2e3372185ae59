package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// summary is what k6 writes of a scenario, cut down.
const summary = `{"metrics": {
	"orders_asked": {"count": 100, "rate": 10},
	"orders_accepted": {"count": 20, "rate": 2, "thresholds": {"count==20": false}},
	"orders_refused": {"count": 79, "rate": 7},
	"orders_refused{code:sold_out}": {"count": 70, "rate": 7, "thresholds": {"count>=0": false}},
	"orders_refused{code:request_in_progress}": {"count": 9, "rate": 1, "thresholds": {"count>=0": false}},
	"orders_refused{code:internal}": {"count": 0, "rate": 0, "thresholds": {"count<1": false}},
	"orders_failed": {"count": 1, "rate": 0.1, "thresholds": {"count<1": true}},
	"dropped_iterations": {"count": 3, "rate": 0.3, "thresholds": {"count<=5": false}},
	"buyer_wait{name:buy}": {"med": 4.6, "p(95)": 90, "p(99)": 120.4, "thresholds": {"p(99)<100": true, "p(95)<100": false}},
	"http_req_duration{name:buy}": {"med": 3, "p(95)": 8, "p(99)": 21, "thresholds": {"max>=0": false}},
	"audit_clean": {"value": 0}, "audit_settled": {"value": 1}, "audit_live": {"value": 21}, "audit_total": {"value": 20},
	"audit_oversold": {"value": 1}, "audit_duplicates": {"value": 0}
}}`

func left(t *testing.T, text string) (folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "2026-01-02T03-04-05Z")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "spike.json"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "spike.html"), nil, 0o600))
	return folder
}

func TestRow_Summary_HasAllFiguresOfK6(t *testing.T) {
	s := readScenario(left(t, summary), "spike", 99)
	assert.Equal(t, []string{"buyer_wait{name:buy} p(99)<100", "orders_failed count<1"}, s.Failures)
	assert.Equal(t, "70 sold_out, 9 request_in_progress", s.Refusals())
	assert.Equal(t, "not clean, 21 of 20 sold, 1 oversold", s.Audit)
	s.Failures, s.Refused = nil, nil
	assert.Equal(t, scenario{
		Name: "spike", Asked: 100, Accepted: 20, Failed: 1, Dropped: 3, Audit: s.Audit, Charts: true,
		Wait: times{P50: 4.6, P95: 90, P99: 120.4}, Server: times{P50: 3, P95: 8, P99: 21},
	}, s)
}

func TestReadScenario_UntrustworthySummary_ReportsFailure(t *testing.T) {
	passed := strings.NewReplacer("true", "false", `"audit_clean": {"value": 0}`, `"audit_clean": {"value": 1}`).Replace(summary)
	for name, c := range map[string]struct {
		text string
		code int
		says string
	}{
		"a tap without an outcome":   {strings.Replace(passed, `"count": 100`, `"count": 101`, 1), 0, "101 taps and 100 outcomes"},
		"an exit code without a why": {passed, 107, "exit code 107"},
		"half a file":                {passed[:40], 0, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := readScenario(left(t, c.text), "spike", c.code)
			require.Len(t, s.Failures, 1)
			assert.Contains(t, s.Failures[0], c.says)
		})
	}
	require.Empty(t, readScenario(left(t, passed), "spike", 0).Failures)
	none := readScenario(t.TempDir(), "spike", 107)
	assert.Equal(t, []string{"k6 ended with exit code 107 and no summary"}, none.Failures)
	assert.Equal(t, "none", none.Audit)
}

func TestPage_Reports_HasTableAndEarlierReports(t *testing.T) {
	folder := left(t, summary)
	r := report{
		Name: filepath.Base(folder), At: "2026-01-02 03:04 UTC", On: "<servers>", Settings: "PEAK=10",
		Scenarios: []scenario{readScenario(folder, "spike", 99), {Name: "pay", Audit: "clean, 2 of 2 sold"}},
	}
	old := filepath.Join(filepath.Dir(folder), "2026-01-01T00-00-00Z")
	require.NoError(t, os.MkdirAll(old, 0o755))
	require.NoError(t, report{Name: filepath.Base(old), At: "the day before", Scenarios: []scenario{{Name: "ramp"}}}.save(old))
	require.NoError(t, r.save(folder))
	text, err := os.ReadFile(filepath.Join(filepath.Dir(folder), "index.html"))
	require.NoError(t, err)
	for _, part := range []string{
		"<h1>Load test: failed: spike</h1>", "&lt;servers&gt;", "<code>buyer_wait{name:buy} p(99)&lt;100</code>", "70 sold_out, 9 request_in_progress", "120&nbsp;ms", "21&nbsp;ms", "<code>PEAK=10</code>",
		"not clean, 21 of 20 sold", `href="2026-01-02T03-04-05Z/spike.html"`, `<a href="2026-01-01T00-00-00Z/index.html">the day before</a> ramp: 1 of 1 passed`,
	} {
		assert.Contains(t, string(text), part)
	}
	own, err := os.ReadFile(filepath.Join(folder, "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(own), `href="spike.html"`)
	assert.NotContains(t, string(own), "pay.html", "there is none")
	var table strings.Builder
	require.NoError(t, r.writeText(&table))
	assert.Contains(t, table.String(), "\nspike failed: orders_failed count<1\n")
	assert.Regexp(t, `(?m)^pay +passed`, table.String())
	assert.Contains(t, table.String(), "settings: PEAK=10\n")
	assert.Regexp(t, `(?m)^spike +failed +20 +1 +3 +5 ms +90 ms +120 ms +3 ms +8 ms +21 ms `, table.String())
}

func TestReports_Several_KeepTheLast(t *testing.T) {
	all := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(all, "mine"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(all, "2026-01-01T00-00-03Z"), 0o755)) // cut off before its end
	for n := range kept + 3 {
		folder := filepath.Join(all, fmt.Sprintf("2026-01-02T00-00-%02dZ", n))
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, report{Name: filepath.Base(folder)}.save(folder))
	}
	entries, err := os.ReadDir(all)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	assert.Equal(t, []string{
		"2026-01-02T00-00-03Z", "2026-01-02T00-00-04Z", "2026-01-02T00-00-05Z", "2026-01-02T00-00-06Z", "2026-01-02T00-00-07Z", "mine",
	}, names)
}

// A code that the scripts do not know would be counted as no refusal, and one that is gone would be
// expected for ever.
func TestK6Scripts_ErrorCodes_AreAllOfTheAPI(t *testing.T) {
	words := func(path, part string) []string {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", path))
		require.NoError(t, err)
		found := map[string]bool{}
		for _, block := range regexp.MustCompile(part).FindAllStringSubmatch(string(text), -1) {
			for _, w := range regexp.MustCompile(`["']([a-z_]+)["']`).FindAllStringSubmatch(block[1], -1) {
				found[w[1]] = true
			}
		}
		return slices.Sorted(maps.Keys(found))
	}
	api := append(words("internal/api/problems.go", `code: ("[a-z_]+")`), "abandoned", "not_drawn") // what a 202 may become
	slices.Sort(api)
	assert.Equal(t, api, words("loadtest/shop.js", `(?s)const codes = \[(.*?)\]`))
}
