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
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// left are the figures that loadtest/summary.js leaves, cut down.
const left = `{
	"scenario": "spike", "question": "Is every unit <sold>?", "passed": true, "date": "2026-01-02T03:04:05.000Z", "url": "http://127.0.0.1:8080",
	"peak": 200, "duration_factor": 0.5, "latency_factor": 3, "users": 20000, "duration_ms": 12000,
	"units": 200, "requests": 1949, "requests_per_second": 410.4, "orders": 200, "orders_p50_ms": 49, "orders_p99_ms": 228.4,
	"orders_per_second": 222.2, "repeats": 0, "refused": 1748, "refused_by": {"sold_out": 1650, "not_started": 98},
	"refused_p50_ms": 0.61, "refused_p99_ms": 4.2, "no_answer": 1, "no_answer_by": {"5xx": 1}, "not_sent": 12,
	"not_sent_reason": "all 1,000 virtual users of k6 were waiting for answers", "server_p50_ms": null, "server_p99_ms": 21,
	"paid": 90, "cancelled": 73, "sold_again": 73, "sold_out_after_ms": 900, "audit": "clean", "oversold": 0, "sold_twice": 0, "lost": 0, "sold": 200,
	"thresholds": [
		{"name": "buyer_wait{name:buy} p(95)<10", "what": "p95 of an answer", "found": "17 ms", "allowed": "10 ms", "ok": true},
		{"name": "dropped_iterations count<=58", "what": "not sent", "found": "12", "allowed": "58", "ok": true},
		{"name": "refused{code:busy} count<1", "what": "refused with busy", "found": "0", "allowed": "0", "ok": true},
		{"name": "refused{code:void} count<1", "what": "refused with void", "found": "0", "allowed": "0", "ok": true},
		{"name": "no_answer{answer:5xx} count<1", "what": "no answer: 5xx", "found": "0", "allowed": "0", "ok": true}
	],
	"failed_checks": []
}`

// leftTable is what loadtest/summary.js leaves in words.
const leftTable = "Load test of http://127.0.0.1:8080\n! a factor\n\nspike      PASSED\n\n  requests 1,949\n"

// ill turns figures that are good into figures of a scenario that failed.
var ill = strings.NewReplacer(
	`"passed": true`, `"passed": false`, `"allowed": "10 ms", "ok": true`, `"allowed": "10 ms", "ok": false`,
	`"failed_checks": []`, `"failed_checks": [{"name": "audit is clean", "failed": 1, "of": 1}]`,
)

// runFolder returns the folder of a run whose scenario spike left these figures.
func runFolder(t *testing.T, all, name, text string) (folder string) {
	t.Helper()
	folder = filepath.Join(all, name)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "spike.json"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "spike.txt"), []byte(leftTable), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "spike.html"), nil, 0o600))
	return folder
}

// reportOf returns the report of the scenarios that a folder has.
func reportOf(folder string, scenarios ...scenario) *report {
	return &report{
		Name: filepath.Base(folder), At: "2026-01-02 03:04 UTC", On: "<stores>", Revision: "abc123",
		Machine: "a machine of two cores", Scenarios: scenarios,
	}
}

func TestReadScenario_Figures_HasAllOfThem(t *testing.T) {
	t.Parallel()
	s := readScenario(runFolder(t, t.TempDir(), "run", left), "spike", 0)
	assert.True(t, s.Passed())
	assert.Empty(t, s.Failures())
	assert.Equal(t, 200, s.Orders)
	assert.InDelta(t, 228.4, *s.OrdersP99, 0)
	assert.Nil(t, s.ServerP50)
	assert.Equal(t, "1,650 sold_out, 98 not_started", counts(s.RefusedBy))
	assert.True(t, s.Charts)
}

func TestReadScenario_ThresholdsMissed_AreItsFailures(t *testing.T) {
	t.Parallel()
	s := readScenario(runFolder(t, t.TempDir(), "run", ill.Replace(left)), "spike", 99)
	assert.False(t, s.Passed())
	assert.Equal(t, []string{"buyer_wait{name:buy} p(95)<10"}, s.Failures())
}

func TestReadScenario_UntrustworthyFigures_HasAProblem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		code int
		says string
	}{
		"an exit code without a reason": {left, 107, "exit code 107"},
		"half a file":                   {left[:40], 0, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := readScenario(runFolder(t, t.TempDir(), "run", c.text), "spike", c.code)
			assert.False(t, s.Passed())
			require.Len(t, s.Failures(), 1)
			assert.Contains(t, s.Failures()[0], c.says)
		})
	}
	none := readScenario(t.TempDir(), "spike", 108)
	assert.Equal(t, []string{"k6 ended with exit code 108 and left no figures; spike.log has its output"}, none.Failures())
}

func TestReport_Page_HasFiguresSettingsAndEarlierRuns(t *testing.T) {
	t.Parallel()
	all := t.TempDir()
	old := runFolder(t, all, "2026-01-01T00-00-00Z", left)
	require.NoError(t, (&report{Name: filepath.Base(old), At: "the day before", Scenarios: []scenario{readScenario(old, "spike", 0)}}).save(old))
	folder := runFolder(t, all, "2026-01-02T03-04-05Z", ill.Replace(left))
	r := reportOf(folder, readScenario(folder, "spike", 99), readScenario(folder, "pay", 108))
	r.Settings = "SECKILL_ORDER__MODE=queue"
	require.NoError(t, r.save(folder))
	text, err := os.ReadFile(filepath.Join(all, "index.html"))
	require.NoError(t, err)
	for _, part := range []string{
		"<h1>Load test FAILED: spike, pay</h1>", "revision abc123", "a machine of two cores", "Server: &lt;stores&gt;", "<code>SECKILL_ORDER__MODE=queue</code>",
		"peak 200 requests/s, duration factor 0.5, latency factor 3, 20,000 users",
		`<p class="warning">! duration factor 0.5: each stage takes 0.5 times the usual time</p>`,
		`<p class="warning">! latency factor 3: latency and &#34;not sent&#34; may be 3 times the usual</p>`,
		"Is every unit &lt;sold&gt;?", "1,650 sold_out, 98 not_started", "<td>orders<td>200<td>49 ms<td>228 ms<td class=\"text\">222/s while there was stock",
		"<td>refused<td>1,748<td>0.6 ms<td>4.2 ms", "1 5xx", "virtual users of k6 were waiting", "of 200 units, sold out after 0.90 s",
		"73 cancelled, 73 sold again", "<td>server<td><td>–<td>21 ms", "clean: oversold 0, sold twice 0, lost 0",
		`<tr class="bad"><td>✘ p95 of an answer<td>17 ms<td>allowed 10 ms`, "audit is clean: 1 of 1 failed",
		`href="2026-01-02T03-04-05Z/spike.html"`, `href="2026-01-02T03-04-05Z/spike.json"`, `href="2026-01-02T03-04-05Z/pay.log"`,
		`<a href="2026-01-01T00-00-00Z/index.html">the day before</a> spike: PASSED, 1 of 1 scenarios`,
	} {
		assert.Contains(t, string(text), part)
	}
	assert.Equal(t, 1, strings.Count(string(text), "<td>✔ refused with any other code<td>0<td>allowed 0"))
	assert.NotRegexp(t, "NaN|refused with busy|no answer: 5xx", string(text))
	own, err := os.ReadFile(filepath.Join(folder, "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(own), `href="spike.html"`)
	assert.NotContains(t, string(own), "pay.html", "there is none")
	assert.NotContains(t, string(own), "Earlier")
}

func TestReport_Text_HasTheTableInAtMost78Columns(t *testing.T) {
	t.Parallel()
	folder := runFolder(t, t.TempDir(), "2026-01-02T03-04-05Z", left)
	r := reportOf(folder, readScenario(folder, "spike", 0), readScenario(folder, "pay", 108))
	r.Machine = "AMD EPYC with a name that is long, 2 cores for all that ran, 8 GiB of memory, Linux 6.1.0-40-amd64"
	require.NoError(t, r.save(folder))
	var text strings.Builder
	require.NoError(t, r.writeText(&text, folder, false))
	said := text.String()
	for line := range strings.Lines(said) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, line)
	}
	assert.Contains(t, said, "Load test FAILED: pay\n2026-01-02 03:04 UTC, revision abc123\n")
	assert.Contains(t, said, "server: <stores>\npeak 200 requests/s, duration factor 0.5, latency factor 3, 20,000 users\n! duration factor 0.5: ")
	assert.Contains(t, said, "\nspike      PASSED\n\n  requests 1,949\n")
	assert.NotContains(t, said, "! a factor", "the head is there once")
	assert.Regexp(t, `(?m)^pay +FAILED\n  ✘ k6 ended with exit code 108 and left no figures; pay\.log has its output$`, said)
	assert.NotContains(t, said, "Against", "there is no earlier run")

	text.Reset()
	require.NoError(t, r.writeText(&text, folder, true))
	assert.Contains(t, text.String(), "\x1b[1;31mLoad test FAILED: pay\x1b[0m\n")
	assert.Contains(t, text.String(), "\x1b[1;31m! latency factor 3: ")
	assert.NotContains(t, text.String(), "31mspike")
}

func TestReport_FactorOfOne_HasNoWarning(t *testing.T) {
	t.Parallel()
	usual := strings.NewReplacer(`"duration_factor": 0.5`, `"duration_factor": 1`, `"latency_factor": 3`, `"latency_factor": 1`).Replace(left)
	r := reportOf("run", readScenario(runFolder(t, t.TempDir(), "run", usual), "spike", 0))
	assert.Equal(t, "peak 200 requests/s, duration factor 1, latency factor 1, 20,000 users", r.Parameters().Line)
	assert.Empty(t, r.Parameters().Warnings)
	r.Scenarios[0].SoakDuration = "2m"
	assert.Equal(t, []string{"soak duration 2m: the usual is 30m"}, r.Parameters().Warnings)
}

func TestReport_EarlierRun_IsComparedIfItsSettingsAreTheSame(t *testing.T) {
	t.Parallel()
	all := t.TempDir()
	before := func(name, text, stores string) report {
		r := reportOf(filepath.Join(all, name), readScenario(runFolder(t, all, name, text), "spike", 0))
		r.At, r.On = name, stores
		return *r
	}
	same := before("same", strings.NewReplacer(`"orders_p99_ms": 228.4`, `"orders_p99_ms": 214`, `"refused_p99_ms": 4.2`, `"refused_p99_ms": null`).Replace(left), "<stores>")
	higher := before("higher", strings.Replace(left, `"peak": 200`, `"peak": 400`, 1), "<stores>")
	elsewhere := before("elsewhere", left, "embedded stores")

	r := reportOf("run", readScenario(runFolder(t, all, "run", left), "spike", 0))
	r.Before = []report{higher, elsewhere, same}
	assert.Equal(t, []comparison{{"spike", "same, abc123", []string{"orders p99 214 → 228 ms", "orders/s 222 → 222", "requests/s 410 → 410"}}}, r.Comparisons())
	r.Before = []report{higher, elsewhere}
	assert.Equal(t, []comparison{{"spike", "no earlier run has the same settings", nil}}, r.Comparisons())
	r.Before = nil
	assert.Empty(t, r.Comparisons())
}

func TestReport_ManyRuns_KeepsTheLastFive(t *testing.T) {
	t.Parallel()
	all := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(all, "mine"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(all, "2026-01-01T00-00-03Z"), 0o755)) // cut off before its end
	for n := range kept + 3 {
		folder := filepath.Join(all, fmt.Sprintf("2026-01-02T00-00-%02dZ", n))
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, (&report{Name: filepath.Base(folder)}).save(folder))
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

// The scripts would count an unknown code as no answer, and would expect a code that is gone for ever.
func TestScripts_RefusalCodes_AreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
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
	assert.Equal(t, api, words("loadtest/lib.js", `(?s)const codes = \[(.*?)\]`))
}
