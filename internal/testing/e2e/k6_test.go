package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/repository"
	"example.com/seckill/internal/testing/testservers"
)

// loaded is the result of loadtest/run.sh: the exit code, the output, the page, and the figures of each scenario.
type loaded struct {
	code      int
	out, page string
	folder    string // of the run
	scenarios []struct {
		Name         string  `json:"scenario"`
		Question     string  `json:"question"`
		OK           bool    `json:"passed"`
		Requests     int     `json:"requests"`
		Orders       int     `json:"orders"`
		Repeats      int     `json:"repeats"`
		Cancelled    int     `json:"cancelled"`
		Sold         int     `json:"sold"`
		Audit        string  `json:"audit"`
		OrdersPerSec float64 `json:"orders_per_second"`
		OrdersP50    float64 `json:"orders_p50_ms"`
		OrdersP99    float64 `json:"orders_p99_ms"`
		ServerP50    float64 `json:"server_p50_ms"`
		Thresholds   []struct {
			Name string `json:"name"`
			OK   bool   `json:"ok"`
		} `json:"thresholds"`
	}
}

// missed returns the thresholds that the i-th scenario missed, a line for each.
func (l loaded) missed(i int) string {
	var all strings.Builder
	for _, threshold := range l.scenarios[i].Thresholds {
		if !threshold.OK {
			all.WriteString(threshold.Name + "\n")
		}
	}
	return all.String()
}

// isNarrow checks that a report fits a terminal of 78 columns.
func isNarrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 78, line)
	}
}

// buildK6 has `.ci/k6` build it once, or waits for the one of `make test`.
var buildK6 = sync.OnceValues(func() ([]byte, error) { return exec.Command("../../../.ci/k6").CombinedOutput() })

// loadTest runs the k6 scripts as `make loadtest` does, small, against a shop that is there.
func loadTest(t *testing.T, shop, scenarios string, env ...string) (l loaded) {
	t.Helper()
	said, err := buildK6()
	require.NoError(t, err, string(said))
	folder := t.TempDir()
	tokens := filepath.Join(folder, "tokens")
	made := run(t, []string{"SECKILL_AUTH__SECRET=" + secret}, "token", "--users", "1-500")
	require.NoError(t, os.WriteFile(tokens, []byte(made.out.String()), 0o600))
	reports := filepath.Join(folder, "reports")
	cmd := exec.CommandContext(t.Context(), "../../../loadtest/run.sh")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"SECKILL_", "K6_", "LT_"}, func(p string) bool { return strings.HasPrefix(v, p) })
	}),
		"LT_URL="+shop, "LT_ADMIN_TOKEN="+token(t, 1, "admin"), "LT_TOKENS="+tokens, "LT_SCENARIOS="+scenarios, "LT_REPORTS="+reports,
		"LT_PEAK=10", "LT_DURATION_FACTOR=0.1", "GORACE=", "K6_INSECURE_SKIP_TLS_VERIFY=true")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) {
		require.NoError(t, err, string(out))
	}
	l.code, l.out = cmd.ProcessState.ExitCode(), string(out)
	page, err := os.ReadFile(filepath.Join(reports, "index.html"))
	require.NoError(t, err, l.out)
	l.page = string(page)
	found, err := filepath.Glob(filepath.Join(reports, "*", "report.json"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	text, err := os.ReadFile(found[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &struct{ Scenarios any }{&l.scenarios}))
	l.folder = filepath.Dir(found[0])
	for _, s := range l.scenarios {
		assert.FileExists(t, filepath.Join(l.folder, s.Name+".txt"), l.out)
	}
	isNarrow(t, strings.ReplaceAll(l.out, reports, ""))
	assert.NotContains(t, l.out+l.page, "NaN")
	return l
}

// unhurried are settings by which a busy machine refuses nothing: its calls may take long.
var unhurried = []string{
	"SECKILL_HTTP__REQUEST_TIMEOUT=12s", "SECKILL_HTTP__READ_TIMEOUT=12s", "SECKILL_HTTP__WRITE_TIMEOUT=20s", "SECKILL_REDIS__TIMEOUT=9s",
	"SECKILL_ORDER__TX_TIMEOUT=6s", "SECKILL_LOCK__TTL=13s", "SECKILL_ORDER__RECONCILE_AFTER=15s", "SECKILL_ORDER__QUEUE_MAX_AGE=12s",
}

func TestLoadTest_HealthyServer_PassesEachScenario(t *testing.T) {
	t.Parallel()
	testservers.Need(t) // compiling k6 is not for `make quick`
	type run struct{ scenario, setting string }
	var all []run
	for _, setting := range []string{"SECKILL_ORDER__PURCHASE_TOKEN=off", "SECKILL_ORDER__PURCHASE_TOKEN=required", "SECKILL_ORDER__MODE=queue"} {
		for _, scenario := range []string{"smoke", "ramp", "spike", "soldout", "one-user", "pay"} {
			all = append(all, run{scenario, setting})
		}
	}
	for _, r := range testservers.Sample(t, 1, all) {
		t.Run(r.scenario+" "+r.setting, func(t *testing.T) {
			t.Parallel()
			shop := embeddedShop(t, append([]string{r.setting}, unhurried...)...)
			points := filepath.Join(t.TempDir(), "{scenario}.points")
			l := loadTest(t, shop.url, r.scenario, "LT_LATENCY_FACTOR=20", "K6_OUT=json="+points)
			require.Zero(t, l.code, l.out)
			require.Len(t, l.scenarios, 1)
			s := l.scenarios[0]
			assert.True(t, s.OK, l.out)
			assert.Equal(t, "clean", s.Audit)
			assert.Contains(t, l.page, "Load test PASSED, 1 of 1 scenarios")
			script, err := os.ReadFile(filepath.Join(root, "loadtest", r.scenario+".js"))
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(string(script), "// "+s.Question+"\n"), s.Question)
			assert.Contains(t, l.out, "\n  "+s.Question+"\n")
			assert.Contains(t, l.out, "\n! latency factor 20: ")

			assert.Positive(t, s.Orders, l.out)
			assert.Positive(t, s.OrdersPerSec, l.out)
			assert.Positive(t, s.OrdersP99, l.out)
			assert.Equal(t, s.Orders, s.Sold+s.Cancelled, "each order is sold once, or is cancelled: %s", l.out)
			switch r.scenario {
			case "smoke":
				assert.Equal(t, s.Orders, s.Repeats, "a repeated request is not another order")
			case "pay":
				assert.Positive(t, s.Cancelled)
			}
			written, err := os.ReadFile(strings.ReplaceAll(points, "{scenario}", r.scenario))
			require.NoError(t, err, "K6_OUT works")
			assert.Contains(t, string(written), `"metric":"requests"`)
		})
	}
}

// A load test that nothing can make fail proves nothing.
func TestLoadTest_UnhealthyServer_FailsByTheNamedThreshold(t *testing.T) {
	t.Parallel()
	testservers.Need(t)
	order := regexp.MustCompile(`/orders$`)
	const hold = 4500 * time.Millisecond // beyond the bound of every scenario
	tap := func(q *http.Request) bool { return q.Method == http.MethodPost && order.MatchString(q.URL.Path) }
	ills := map[string]struct {
		ill   func(shop http.Handler) http.HandlerFunc
		holds time.Duration // how long its connections hold back their first bytes
		fails string        // the threshold
		says  string        // the line of the report
	}{
		"its connections are slow": {fails: `buyer_wait\{name:buy\} p\(9[59]\)<\d+`, says: `p9[59] of an answer +[\d,]+ ms, allowed [\d,]+ ms`, holds: hold, ill: func(shop http.Handler) http.HandlerFunc {
			return shop.ServeHTTP
		}},
		"it is slow": {fails: `buyer_wait\{name:buy\} p\(9[59]\)<\d+`, says: `p9[59] of an answer +[\d,]+ ms, allowed [\d,]+ ms`, ill: func(shop http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, q *http.Request) {
				if tap(q) {
					time.Sleep(hold) // k6 measures it
				}
				shop.ServeHTTP(w, q)
			}
		}},
		"it answers 500": {fails: `no_answer\{answer:5xx\} count<1`, says: `no answer: 5xx +\d+, allowed 0`, ill: func(shop http.Handler) http.HandlerFunc {
			return everyThird(tap, shop, func(w http.ResponseWriter) { http.Error(w, "out of order", http.StatusInternalServerError) })
		}},
		"it refuses with a code that is not expected": {fails: `refused\{code:internal\} count<1`, says: `refused with internal +\d+, allowed 0`, ill: func(shop http.Handler) http.HandlerFunc {
			return everyThird(tap, shop, func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, `{"status":500,"code":"internal"}`)
			})
		}},
		"it cuts connections": {fails: `no_answer\{answer:none\} count<1`, says: `no answer: none +\d+, allowed 0`, ill: func(shop http.Handler) http.HandlerFunc {
			return everyThird(tap, shop, func(http.ResponseWriter) { panic(http.ErrAbortHandler) })
		}},
		"its audit is dirty": {fails: `checks\{audit:yes\} rate==1`, says: `audit is clean: 1 of 1 failed`, ill: func(shop http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, q *http.Request) {
				if !strings.HasSuffix(q.URL.Path, "/audit") {
					shop.ServeHTTP(w, q)
					return
				}
				got := httptest.NewRecorder()
				shop.ServeHTTP(got, q)
				w.WriteHeader(got.Code)
				_, _ = w.Write(bytes.Replace(got.Body.Bytes(), []byte(`"clean":true`), []byte(`"clean":false`), 1))
			}
		}},
	}
	for _, name := range testservers.Sample(t, 2, slices.Sorted(maps.Keys(ills))) {
		c := ills[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ill := testservers.Sample(t, 1, []string{"ramp", "spike", "soldout", "one-user", "pay"})[0]
			l := loadTest(t, illAtItsSecondSale(t, c.ill, c.holds), "smoke "+ill, "LT_LATENCY_FACTOR=2")
			assert.Equal(t, 1, l.code, l.out)
			require.Len(t, l.scenarios, 2)
			assert.True(t, l.scenarios[0].OK, l.out)
			assert.Regexp(t, c.fails, l.missed(1), l.out)
			assert.Regexp(t, `(?m)^  ✘ `+c.says, l.out)
			assert.Contains(t, l.out, "Load test FAILED: "+ill+"\n")
			assert.Contains(t, l.page, "Load test FAILED: "+ill+"</h1>")
			if c.holds > 0 {
				s := l.scenarios[1]
				assert.GreaterOrEqual(t, s.OrdersP99, float64(c.holds.Milliseconds()), "the wait for a connection: %s", l.out)
				assert.Less(t, s.ServerP50, s.OrdersP50, "the server's part: %s", l.out)
			}
		})
	}
}

// everyThird lets every third of the requests be answered otherwise.
func everyThird(which func(*http.Request) bool, shop http.Handler, otherwise func(http.ResponseWriter)) http.HandlerFunc {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		if which(q) {
			n++
		}
		ill := which(q) && n%3 == 0
		mu.Unlock()
		if ill {
			otherwise(w)
			return
		}
		shop.ServeHTTP(w, q)
	}
}

// illAtItsSecondSale returns the address of a shop that works, behind a proxy that fails every request about the second
// sale. If the proxy holds connections, it starts with that sale's first request and speaks TLS. A client with plain
// HTTP would send its request into a held connection, and count the hold as the server's time.
func illAtItsSecondSale(t *testing.T, ill func(shop http.Handler) http.HandlerFunc, holds time.Duration) string {
	t.Helper()
	at, err := url.Parse(embeddedShop(t, unhurried...).url)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(at)
	idle := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(idle.CloseIdleConnections)
	proxy.Transport = idle
	sick := ill(proxy)
	const second = "3" // the shop has one of its own
	var begun atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.Contains(q.URL.Path, "/coupons/"+second+"/") {
			begun.Store(true)
			sick(w, q)
			return
		}
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	if holds == 0 {
		server.Start()
		return server.URL
	}
	server.Listener = heldListener{server.Listener, &begun, holds}
	server.StartTLS()
	return server.URL
}

// heldListener holds the first bytes of each connection that it accepts after it has begun.
type heldListener struct {
	net.Listener
	begun *atomic.Bool
	hold  time.Duration
}

func (l heldListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil || !l.begun.Load() {
		return c, err
	}
	return &heldConn{Conn: c, until: time.After(l.hold)}, nil
}

// heldConn is a connection whose first bytes are held until its time.
type heldConn struct {
	net.Conn
	until <-chan time.Time
	once  sync.Once
}

func (c *heldConn) Read(b []byte) (int, error) {
	c.once.Do(func() { <-c.until })
	return c.Conn.Read(b)
}

// k6 runs k6 on a script in a folder. It returns the exit code and the output.
func k6(t *testing.T, folder string, env []string, args ...string) (code int, out string) {
	t.Helper()
	built, err := buildK6()
	require.NoError(t, err, string(built))
	program, err := filepath.Abs(filepath.Join(root, "bin/k6"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, append([]string{"run", "--quiet", "--address", ""}, args...)...)
	cmd.Dir = folder
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "PWD=" + folder, "K6_NO_USAGE_REPORT=true"}, env...)
	text, err := cmd.CombinedOutput()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) {
		require.NoError(t, err, string(text))
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// givesTo is a script that gives data to loadtest/summary.js as k6 would.
const givesTo = `import { figuresOf, table } from 'file://%s';
const data = JSON.parse(open('./data.json'));
export default function () {}
export function handleSummary() {
  const figures = figuresOf(data, {
    scenario: 'pay', question: 'Is each unit sold once?', options: { scenarios: { pay: { maxVUs: 1000 } } }, users: 20000, date: new Date(0),
    settings: { url: 'http://127.0.0.1:8080', peak: 200, durationFactor: 0.5, latencyFactor: 3 },
  });
  return { stdout: table(figures, false), 'coloured.txt': table(figures, true), 'figures.json': JSON.stringify(figures) };
}
`

// given is what k6 gives to handleSummary, cut down.
const given = `{
	"state": {"testRunDurationMs": 12000}, "setup_data": {"stock": 110, "opens": 100},
	"root_group": {"checks": [{"name": "the order is paid", "passes": 90, "fails": 1}, {"name": "audit is clean", "passes": 1, "fails": 0}], "groups": []},
	"metrics": {
		"requests": {"type": "counter", "values": {"count": 1949}},
		"orders": {"type": "counter", "values": {"count": 183}, "thresholds": {"count>=110": {"ok": true}}},
		"repeats": {"type": "counter", "values": {"count": 17}},
		"refused": {"type": "counter", "values": {"count": 1747}},
		"refused{code:sold_out}": {"type": "counter", "values": {"count": 1650}, "thresholds": {"count>=0": {"ok": true}}},
		"refused{code:busy}": {"type": "counter", "values": {"count": 97}, "thresholds": {"count<1": {"ok": false}}},
		"refused{code:internal}": {"type": "counter", "values": {"count": 0}, "thresholds": {"count<1": {"ok": true}}},
		"no_answer": {"type": "counter", "values": {"count": 2}, "thresholds": {"count<1": {"ok": false}}},
		"no_answer{answer:5xx}": {"type": "counter", "values": {"count": 2}, "thresholds": {"count<1": {"ok": false}}},
		"no_answer{answer:none}": {"type": "counter", "values": {"count": 0}, "thresholds": {"count<1": {"ok": true}}},
		"orders_paid": {"type": "counter", "values": {"count": 90}},
		"orders_cancelled": {"type": "counter", "values": {"count": 73}},
		"dropped_iterations": {"type": "counter", "values": {"count": 12}, "thresholds": {"count<=58": {"ok": true}}},
		"vus_max": {"type": "gauge", "values": {"value": 1000, "max": 1000}},
		"buyer_wait{name:buy}": {"type": "trend", "contains": "time", "values": {"count": 1949, "med": 0.7, "p(95)": 17.2, "p(99)": 228.4, "max": 300},
			"thresholds": {"p(95)<10": {"ok": false}, "p(99)<6000": {"ok": true}, "max>=0": {"ok": true}}},
		"buyer_wait{name:buy,outcome:order}": {"type": "trend", "contains": "time", "values": {"count": 183, "med": 49, "p(99)": 228.4, "max": 300}},
		"buyer_wait{name:buy,outcome:refused}": {"type": "trend", "contains": "time", "values": {"count": 1747, "med": 0.61, "p(99)": 4.2, "max": 9}},
		"http_req_duration{name:buy}": {"type": "trend", "contains": "time", "values": {"count": 0, "med": 0, "p(99)": 0, "max": 0}},
		"checks{audit:yes}": {"type": "rate", "values": {"passes": 4, "fails": 0}, "thresholds": {"rate==1": {"ok": true}}},
		"request_time": {"type": "gauge", "values": {"value": 1, "min": 1100, "max": 10845}},
		"order_time": {"type": "gauge", "values": {"value": 1, "min": 1200, "max": 10250}},
		"audit_clean": {"values": {"value": 1}}, "audit_settled": {"values": {"value": 1}}, "audit_oversold": {"values": {"value": 0}},
		"audit_duplicates": {"values": {"value": 0}}, "audit_orders": {"values": {"value": 183}}, "audit_live": {"values": {"value": 110}},
		"audit_total": {"values": {"value": 110}}, "audit_stock": {"values": {"value": 0}}
	}
}`

// givenTable is the table of given.
const givenTable = `Load test of http://127.0.0.1:8080                        1970-01-01 00:00 UTC
peak 200 requests/s, duration factor 0.5, latency factor 3, 20,000 users
! duration factor 0.5: each stage takes 0.5 times the usual time
! latency factor 3: latency and "not sent" may be 3 times the usual

pay                                                                     FAILED
  Is each unit sold once?

  requests      1,949  200/s
  orders          183  p50     49 ms  p99    228 ms
                       20/s while there was stock
  repeats          17  the order of an earlier request again
  refused       1,747  p50    0.6 ms  p99    4.2 ms
                       1,650 sold_out, 97 busy
  no answer         2  2 5xx
  not sent         12
                       all 1,000 virtual users of k6 were waiting for answers
  sold            110  of 110 units, sold out after 9.2 s
                       90 paid, 73 cancelled and sold again
  server               p50         –  p99         –
                       one request and its answer
  audit                clean
                       oversold 0, sold twice 0, lost 0

  found, and allowed
  ✘ p95 of an answer             17 ms, allowed 10 ms
  ✔ p99 of an answer             228 ms, allowed 6,000 ms
  ✔ checks of the audit          4 of 4, allowed all
  ✔ not sent                     12, allowed 58
  ✘ no answer                    2, allowed 0
  ✘ no answer: 5xx               2, allowed 0
  ✔ orders                       183, allowed at least 110
  ✘ refused with busy            97, allowed 0
  ✔ refused with any other code  0, allowed 0
  ✘ the order is paid: 1 of 91 failed
`

// summarized gives data to loadtest/summary.js. It returns the table, the same with colours, and the figures.
func summarized(t *testing.T, data string) (table, coloured string, figures map[string]any) {
	t.Helper()
	folder := t.TempDir()
	path, err := filepath.Abs(filepath.Join(root, "loadtest/summary.js"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "script.js"), fmt.Appendf(nil, givesTo, path), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "data.json"), []byte(data), 0o600))
	code, out := k6(t, folder, nil, "script.js")
	require.Zero(t, code, out)
	text, err := os.ReadFile(filepath.Join(folder, "coloured.txt"))
	require.NoError(t, err, out)
	written, err := os.ReadFile(filepath.Join(folder, "figures.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(written, &figures))
	return out, string(text), figures
}

func TestLoadTestSummary_FixedFigures_PrintsThemApart(t *testing.T) {
	t.Parallel()
	testservers.Need(t)
	table, coloured, figures := summarized(t, given)
	assert.Equal(t, givenTable, table)
	isNarrow(t, table)
	for _, line := range []string{"! latency factor 3: latency and \"not sent\" may be 3 times the usual", "FAILED", "  ✘ no answer                    2, allowed 0"} {
		assert.Contains(t, coloured, "\x1b[1;31m"+line+"\x1b[0m")
	}
	for name, want := range map[string]any{
		"orders": 183., "sold": 110., "cancelled": 73., "sold_again": 73., "lost": 0., "sold_out_after_ms": 9150., "server_p50_ms": nil, "passed": false,
		"latency_factor": 3., "audit": "clean",
	} {
		assert.Equal(t, want, figures[name], name)
	}
}

// field matches the fields of a row of loadtest/FIGURES.md.
var field = regexp.MustCompile("(?m)^\\| (`[a-z0-9_`, ]+`) \\|")

func TestLoadTestFigures_Document_HasTheFieldsOfTheJSON(t *testing.T) {
	t.Parallel()
	testservers.Need(t)
	text, err := os.ReadFile(filepath.Join(root, "loadtest/FIGURES.md"))
	require.NoError(t, err)
	var documented []string
	for _, row := range field.FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}
	_, _, figures := summarized(t, given)
	assert.ElementsMatch(t, slices.Collect(maps.Keys(figures)), documented)
}

func TestLoadTestSummary_LostOrderOrNoFigures_Fails(t *testing.T) {
	t.Parallel()
	testservers.Need(t)
	ok := strings.ReplaceAll(given, `"ok": false`, `"ok": true`)
	table, _, figures := summarized(t, ok)
	assert.Contains(t, table, "  PASSED\n")
	assert.Equal(t, true, figures["passed"])

	table, _, _ = summarized(t, strings.Replace(ok, `"audit_orders": {"values": {"value": 183}}`, `"audit_orders": {"values": {"value": 180}}`, 1))
	assert.Regexp(t, `(?m)^  ✘ orders lost +3, allowed 0$`, table)
	table, _, _ = summarized(t, strings.Replace(ok, `"max": 10250`, `"max": 1149`, 1))
	assert.Contains(t, table, "sold out after 0.05 s\n")
	table, _, _ = summarized(t, strings.Replace(ok, `"requests": {"type": "counter", "values": {"count": 1949}}`, `"requests": {"type": "counter", "values": {"count": 1950}}`, 1))
	assert.Regexp(t, `(?m)^  ✘ outcomes of the requests +1,949, allowed 1,950$`, table)

	table, _, figures = summarized(t, `{"state": {}, "setup_data": {"stock": 1, "opens": 0}, "root_group": {}, "metrics": {}}`)
	assert.Regexp(t, `(?m)^  ✘ audit +none, allowed clean$`, table)
	assert.Equal(t, false, figures["passed"])
	assert.NotRegexp(t, "NaN|undefined|null|Infinity", table)
	isNarrow(t, table)
}

// renamed matches a line of the table of names in loadtest/settings.js.
var renamed = regexp.MustCompile(`(?m)^  ([A-Z_]+): '(LT_[A-Z_]+)',$`)

func TestLoadTestScript_WrongVariable_IsRefusedInOneSentence(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "loadtest/settings.js"))
	require.NoError(t, err)
	refused := map[string]string{
		"LT_PEEK=1":              "the load test has no variable LT_PEEK",
		"LT_PEAK=many":           "LT_PEAK is many: it must be a number above 0",
		"LT_DURATION_FACTOR=0.0": "LT_DURATION_FACTOR is 0.0: it must be a number above 0",
		"LT_SOAK_DURATION=long":  "LT_SOAK_DURATION is long: it must be a duration such as 90s, 2m or 1h",
		"LT_SCENARIOS=lib":       "there is no scenario lib",
		"K6_VUS=3":               "K6_VUS does not fit these scenarios, in which buyers arrive at a fixed rate: set LT_PEAK and LT_DURATION_FACTOR instead",
		"LT_URL=http://x":        "LT_ADMIN_TOKEN is not set: it is the output of `seckill token --user 1 --role admin`",
	}
	names := renamed.FindAllStringSubmatch(string(text), -1)
	require.Len(t, names, 13)
	for _, name := range names {
		refused[name[1]+"=1"] = "the load test does not read " + name[1] + ": set " + name[2] + " instead"
	}
	for variable, says := range refused {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "loadtest/run.sh")
			cmd.Dir, cmd.Env = root, []string{"PATH=" + os.Getenv("PATH"), variable}
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			assert.Equal(t, 2, cmd.ProcessState.ExitCode())
			assert.Equal(t, "loadtest: "+says+"\n", string(out))
		})
	}
}

func TestLoadTestK6_WrongVariable_IsRefusedInOneSentence(t *testing.T) {
	t.Parallel()
	testservers.Need(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tokens.txt"), []byte("a\nb\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "one.txt"), []byte("a\n"), 0o600))
	for name, c := range map[string]struct {
		env  []string
		args []string
		says string
	}{
		"an old name":   {env: []string{"PEAK=3"}, says: "the load test does not read PEAK: set LT_PEAK instead"},
		"an unknown":    {env: []string{"LT_PEEK=3"}, says: "the load test has no variable LT_PEEK"},
		"no number":     {env: []string{"LT_LATENCY_FACTOR=high"}, says: "LT_LATENCY_FACTOR is high: it must be a number above 0"},
		"virtual users": {env: []string{"K6_VUS=3", "K6_DURATION=4s"}, says: "K6_VUS does not fit these scenarios"},
		"a flag":        {args: []string{"--vus", "3", "--duration", "4s"}, says: "an option such as --vus or --duration does not fit these scenarios"},
		"no file":       {env: []string{"LT_TOKENS=none.txt"}, says: "there is no file " + folder + "/none.txt with the tokens of the buyers"},
		"one token":     {env: []string{"LT_TOKENS=one.txt"}, says: folder + "/one.txt has fewer than two tokens"},
		"no server":     {env: []string{"LT_URL=http://127.0.0.1:1"}, says: "no server answers at http://127.0.0.1:1"},
		"nothing":       {env: []string{"LT_ADMIN_TOKEN="}, says: "LT_ADMIN_TOKEN is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, err := filepath.Abs(filepath.Join(root, "loadtest/one-user.js"))
			require.NoError(t, err)
			code, out := k6(t, folder, append([]string{"LT_ADMIN_TOKEN=x"}, c.env...), append(c.args, script)...)
			assert.NotZero(t, code, out)
			assert.Contains(t, out, c.says)
			for _, ugly := range []string{"file://", "GoError", "goroutine", "NaN", "at createSale", "stat /"} {
				assert.NotContains(t, out, ugly)
			}
		})
	}
}

// smaller makes the commands of loadtest/README.md fit a test.
func smaller(folder, url string) *strings.Replacer {
	return strings.NewReplacer("bin/seckill", "seckill", "tokens.txt", folder+"/tokens.txt", "points.json", folder+"/points.json",
		"http://127.0.0.1:8080", url, "SECRET=…", "SECRET='"+secret+"'", "1-20000", "1-500", "LT_PEAK=200", "LT_PEAK=10", "=2m", "=9s",
		"rush --users 20000", "rush --users 200 --first-user 1000 --url "+url)
}

// Every command of loadtest/README.md works, in the order of the page. The loads are smaller, and the scenarios run
// against one server that is there. The Chinese page has no other commands for k6.
func TestLoadTestREADME_EachCommand_Works(t *testing.T) {
	t.Parallel()
	testservers.Need(t)
	said, err := buildK6()
	require.NoError(t, err, string(said))
	all, err := repository.Commands(root)
	require.NoError(t, err)
	var english []string
	for _, c := range all {
		line := remark.ReplaceAllString(c.Text, "")
		switch {
		case c.Document == "loadtest/README.md" && !slices.Contains(english, line):
			english = append(english, line)
		case c.Document == "docs/zh/LOADTEST.md" && regexp.MustCompile(`LT_|k6|loadtest`).MatchString(line):
			assert.Contains(t, english, line, c.String())
		}
	}
	require.Greater(t, len(english), 10)

	shop := embeddedShop(t, unhurried...)
	folder := t.TempDir()
	absolute, err := filepath.Abs(root)
	require.NoError(t, err)
	tokens := filepath.Join(folder, "first.txt")
	made := run(t, []string{"SECKILL_AUTH__SECRET=" + secret}, "token", "--users", "1-500")
	require.NoError(t, os.WriteFile(tokens, []byte(made.out.String()), 0o600))
	caches, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	require.NoError(t, err)
	cache := strings.Fields(string(caches))

	shell := open(t, folder)
	shell.types(t, "cd "+absolute)
	shell.types(t, "export GOCACHE="+cache[0]+" GOMODCACHE="+cache[1]+" GOFLAGS="+os.Getenv("GOFLAGS"))
	shell.types(t, "export LT_REPORTS="+folder+"/reports LT_DURATION_FACTOR=0.1 LT_LATENCY_FACTOR=20 LT_PEAK=10 K6_NO_USAGE_REPORT=true")
	shell.types(t, "export LT_SCENARIOS=smoke LT_URL="+shop.url+" LT_TOKENS="+tokens+" LT_ADMIN_TOKEN="+token(t, 1, "admin"))
	for _, line := range english {
		if strings.HasPrefix(line, "export SECKILL_AUTH__SECRET") { // the reader's own server begins
			shell.types(t, "unset LT_URL LT_TOKENS LT_ADMIN_TOKEN")
		}
		t.Logf("$ %s", line)
		out := shell.types(t, smaller(folder, shop.url).Replace(line))
		switch {
		case strings.HasPrefix(line, "LT_SCENARIOS=soak"):
			assert.Contains(t, out, "Load test PASSED, 1 of 1 scenarios")
			assert.Contains(t, out, "\n! soak duration 9s: the usual is 30m\n")
		case strings.Contains(line, "make loadtest"), line == "loadtest/run.sh":
			assert.Contains(t, out, "Load test PASSED, 1 of 1 scenarios")
		case strings.Contains(line, "bin/k6 run"):
			assert.Regexp(t, `(?m)^spike +PASSED$`, out)
		case strings.Contains(line, "seckill rush"):
			assert.Contains(t, out, "AUDIT CLEAN")
		}
	}
	assert.FileExists(t, filepath.Join(folder, "points.json"))
}
