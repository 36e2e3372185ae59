package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// loaded is the result of loadtest/run.sh: its exit code, its output and its report.
type loaded struct {
	code      int
	out, page string
	scenarios []struct {
		Name            string
		Failures        []string
		Asked, Accepted int
		Audit           string
		Wait, Server    struct{ P50, P99 float64 } // milliseconds
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
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SECKILL_") || strings.HasPrefix(v, "K6_") }),
		"SECKILL_URL="+shop, "ADMIN_TOKEN="+token(t, 1, "admin"), "TOKENS="+tokens, "SCENARIO="+scenarios, "REPORTS="+reports,
		"PEAK=10", "TIME=0.1", "GORACE=", "K6_INSECURE_SKIP_TLS_VERIFY=true")
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
	for _, s := range l.scenarios {
		assert.FileExists(t, filepath.Join(filepath.Dir(found[0]), s.Name+".txt"))
	}
	return l
}

// unhurried are settings by which a busy machine refuses nothing: its calls may take long.
var unhurried = []string{
	"SECKILL_HTTP__REQUEST_TIMEOUT=12s", "SECKILL_HTTP__READ_TIMEOUT=12s", "SECKILL_HTTP__WRITE_TIMEOUT=20s", "SECKILL_REDIS__TIMEOUT=9s",
	"SECKILL_ORDER__TX_TIMEOUT=6s", "SECKILL_LOCK__TTL=13s", "SECKILL_ORDER__RECONCILE_AFTER=15s", "SECKILL_ORDER__QUEUE_MAX_AGE=12s",
}

func TestK6_WorkingServer_PassesEveryScenario(t *testing.T) {
	t.Parallel()
	testservers.Need(t) // compiling k6 is not for `make quick`
	type run struct{ scenario, setting string }
	var all []run
	for _, setting := range []string{"SECKILL_ORDER__PURCHASE_TOKEN=off", "SECKILL_ORDER__PURCHASE_TOKEN=required", "SECKILL_ORDER__MODE=queue"} {
		for _, scenario := range []string{"smoke", "ramp", "spike", "soldout", "taps", "pay"} {
			all = append(all, run{scenario, setting})
		}
	}
	for _, r := range testservers.Sample(t, 1, all) {
		t.Run(r.scenario+" "+r.setting, func(t *testing.T) {
			t.Parallel()
			shop := embeddedShop(t, append([]string{r.setting}, unhurried...)...)
			l := loadTest(t, shop.url, r.scenario, "PATIENCE=20")
			require.Zero(t, l.code, l.out)
			require.Len(t, l.scenarios, 1)
			s := l.scenarios[0]
			assert.Positive(t, s.Accepted, l.out)
			assert.Regexp(t, `^clean, \d+ of \d+ sold$`, s.Audit)
			assert.Contains(t, l.page, "Load test: 1 of 1 passed")
		})
	}
}

// A load test that nothing can make fail proves nothing.
func TestK6_BrokenServer_FailsTheScenario(t *testing.T) {
	t.Parallel()
	testservers.Need(t)
	order := regexp.MustCompile(`/orders$`)
	const hold = 4500 * time.Millisecond // beyond the bound of every scenario
	tap := func(q *http.Request) bool { return q.Method == http.MethodPost && order.MatchString(q.URL.Path) }
	ills := map[string]struct {
		ill   func(shop http.Handler) http.HandlerFunc
		holds time.Duration // how long its connections hold back their first bytes
		fails string
	}{
		"its connections are slow": {fails: `buyer_wait\{name:buy\} p\(9[59]\)<\d+`, holds: hold, ill: func(shop http.Handler) http.HandlerFunc {
			return shop.ServeHTTP
		}},
		"it is slow": {fails: `buyer_wait\{name:buy\} p\(9[59]\)<\d+`, ill: func(shop http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, q *http.Request) {
				if tap(q) {
					time.Sleep(hold) // k6 measures it
				}
				shop.ServeHTTP(w, q)
			}
		}},
		"it answers 500": {fails: `orders_failed\{answer:5xx\} count<1`, ill: func(shop http.Handler) http.HandlerFunc {
			return everyThird(tap, shop, func(w http.ResponseWriter) { http.Error(w, "out of order", http.StatusInternalServerError) })
		}},
		"it refuses with a code that is not expected": {fails: `orders_refused\{code:internal\} count<1`, ill: func(shop http.Handler) http.HandlerFunc {
			return everyThird(tap, shop, func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, `{"status":500,"code":"internal"}`)
			})
		}},
		"it cuts connections": {fails: `orders_failed\{answer:none\} count<1`, ill: func(shop http.Handler) http.HandlerFunc {
			return everyThird(tap, shop, func(http.ResponseWriter) { panic(http.ErrAbortHandler) })
		}},
		"its audit is dirty": {fails: `checks\{audit:yes\} rate==1`, ill: func(shop http.Handler) http.HandlerFunc {
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
			ill := testservers.Sample(t, 1, []string{"ramp", "spike", "soldout", "taps", "pay"})[0]
			l := loadTest(t, illAtItsSecondSale(t, c.ill, c.holds), "smoke "+ill, "PATIENCE=2")
			assert.Equal(t, 1, l.code, l.out)
			require.Len(t, l.scenarios, 2)
			assert.Empty(t, l.scenarios[0].Failures, l.out)
			assert.Regexp(t, c.fails, strings.Join(l.scenarios[1].Failures, "\n"), l.out)
			assert.Regexp(t, `(?m)^`+ill+` failed: `+c.fails, l.out)
			assert.Contains(t, l.page, "Load test: failed: "+ill+"</h1>")
			if c.holds > 0 {
				s := l.scenarios[1]
				assert.GreaterOrEqual(t, s.Wait.P99, float64(c.holds.Milliseconds()), "the wait for a connection: %s", l.out)
				assert.Less(t, s.Server.P50, s.Wait.P50, "the server's part: %s", l.out)
				assert.Contains(t, l.page, "<code>PEAK=10 TIME=0.1 PATIENCE=2</code>")
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
