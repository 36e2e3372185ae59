package attack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/app"
	"example.com/seckill/internal/config"
)

// target is a server on embedded stores, and what is on sale there.
type target struct {
	*app.Server

	t     *testing.T
	addr  string            // host:port of the public listener
	admin string            // of the second one
	rule  string            // URL of the administrator's routes
	sales map[string]string // coupon ids by what the corpus calls them
	told  map[string]string // what earlier requests saved
	log   *lockedBuffer
	heard bytes.Buffer // all answers, but those that are tokens
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start returns a server with these variables, whose sales are in every state that there is.
func start(t *testing.T, k keys, settings []string) *target {
	t.Helper()
	dir := t.TempDir()
	env := []string{
		"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0", "SECKILL_AUTH__SECRET=" + secret,
		"SECKILL_RATE_LIMIT__PER_USER=0", "SECKILL_RATE_LIMIT__LOGINS=0", "SECKILL_HTTP__DRAIN_DELAY=0s",
		"SECKILL_HTTP__HOSTS=x,y,honest", // of requests whose host does not matter
	}
	for _, one := range settings {
		for name, text := range map[string]string{"KEYSET": k.keySet(), "DENIED": "# thieves\n666\n"} {
			if strings.HasSuffix(one, "="+name) {
				file := filepath.Join(dir, name)
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
				one = strings.TrimSuffix(one, name) + file
			}
		}
		env = append(env, one)
	}
	cfg, err := config.Load("", env)
	require.NoError(t, err)
	s := &target{t: t, log: &lockedBuffer{}, told: map[string]string{}}
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.Server, err = app.Start(t.Context(), cfg, log, app.Options{})
	require.NoError(t, err)
	s.LogServing()
	s.addr = strings.TrimPrefix(s.URL, "http://")
	s.admin = regexp.MustCompile(`"admin":"([^"]+)"`).FindStringSubmatch(s.log.String())[1]
	if s.rule = s.URL; cfg.Admin.ServeAPI {
		s.rule = "http://" + s.admin
	}
	s.sales = s.open()
	return s
}

// open puts on sale what the corpus is about.
func (s *target) open() map[string]string {
	day := func(n int) string { return time.Now().AddDate(0, 0, n).UTC().Format(time.RFC3339) }
	sales := map[string]string{"unknown": "4000000000"}
	for name, o := range map[string]struct {
		stock        string
		begins, ends int
		publish      bool
		then         func(id string)
	}{
		"sale":  {"1000", -1, 1, true, nil},
		"other": {"1000", -1, 1, true, nil},
		"draft": {"10", -1, 1, false, nil},
		"soon":  {"10", 1, 2, true, nil},
		"paused": {"10", -1, 1, true, func(id string) {
			s.ask(http.MethodDelete, "/api/v1/admin/coupons/"+id+"/publication", "", http.StatusOK)
		}},
		"ended": {"10", -1, 1, true, func(id string) {
			s.ask(http.MethodPatch, "/api/v1/admin/coupons/"+id, `{"state":"ended"}`, http.StatusOK)
		}},
	} {
		body := fmt.Sprintf(`{"title":%q,"stock":%s,"begins_at":%q,"ends_at":%q}`, name, o.stock, day(o.begins), day(o.ends))
		var made struct {
			ID       string    `json:"id"`
			BeginsAt time.Time `json:"begins_at"`
		}
		require.NoError(s.t, json.Unmarshal(s.ask(http.MethodPost, "/api/v1/admin/coupons", body, http.StatusCreated), &made))
		sales[name] = made.ID
		if name == "sale" {
			s.told["begins"] = strconv.FormatInt(made.BeginsAt.UnixMilli(), 10)
		}
		if o.publish {
			s.ask(http.MethodPost, "/api/v1/admin/coupons/"+made.ID+"/publication", "", http.StatusOK)
		}
		if o.then != nil {
			o.then(made.ID)
		}
	}
	assert.Eventually(s.t, func() bool { // what is announced is read again every half second
		for name, id := range sales {
			want := http.StatusOK
			if name == "draft" || name == "unknown" {
				want = http.StatusNotFound
			}
			resp, err := http.Get(s.URL + "/api/v1/coupons/" + id)
			if err != nil {
				return false
			}
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				return false
			}
		}
		return true
	}, 10*time.Second, 20*time.Millisecond)
	return sales
}

// ask is an honest request of the administrator, who asks again when a store is away for the moment.
func (s *target) ask(method, path, body string, want int) []byte {
	s.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		status, text := s.askOnce(method, path, body)
		if status != http.StatusServiceUnavailable || time.Now().After(until) {
			require.Equal(s.t, want, status, "%s %s: %s", method, path, text)
			return text
		}
	}
}

func (s *target) askOnce(method, path, body string) (status int, text []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.rule+path, strings.NewReader(body))
	require.NoError(s.t, err)
	token, err := s.Token(1, "admin")
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err = io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, text
}

// A token has no business in a log, nor where none was asked for.
var aToken = regexp.MustCompile(`eyJ[\w-]{8,}\.[\w-]{8,}\.`)

// close asks what must hold after all that was tried, and stops the server.
func (s *target) close() {
	s.t.Helper()
	for name, id := range s.sales {
		if name == "unknown" {
			continue
		}
		var report struct {
			Clean      bool
			Oversold   int
			Violations []string
		}
		audit := s.ask(http.MethodGet, "/api/v1/admin/coupons/"+id+"/audit", "", http.StatusOK)
		require.NoError(s.t, json.Unmarshal(audit, &report))
		assert.True(s.t, report.Clean, "%s: %v", name, report.Violations)
		assert.Zero(s.t, report.Oversold)
	}
	resp, err := http.Get("http://" + s.admin + "/metrics")
	require.NoError(s.t, err)
	metrics, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, resp.Body.Close())
	assert.NotContains(s.t, string(metrics), `code="internal"`)
	http.DefaultClient.CloseIdleConnections()
	require.NoError(s.t, s.Stop(s.t.Context()))

	written := s.log.String()
	for _, bad := range []string{"panic", `"level":"ERROR"`, "goroutine "} {
		assert.NotContains(s.t, written, bad)
	}
	for where, text := range map[string]string{"the log": written, "an answer": s.heard.String()} {
		assert.NotContains(s.t, text, secret, where)
		assert.NotContains(s.t, text, oldSecret, where)
		assert.Empty(s.t, aToken.FindString(text), where)
	}
}
