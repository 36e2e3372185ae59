package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// isReport holds what demo and rush print with --json against the contract.
func isReport(t testing.TB, text string, committed int) {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &fields), text)
	date, err := time.Parse(time.RFC3339, fields["date"].(string))
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), date, time.Hour)
	assert.NotEmpty(t, fields["version"])
	assert.Contains(t, fields["url"], "http://")
	assert.Equal(t, "clean", fields["audit"], text)
	assert.EqualValues(t, committed, fields["committed"], text)
	assert.EqualValues(t, committed, fields["orders"], text)
	assert.EqualValues(t, committed, fields["sold"], text)
	assert.Zero(t, fields["oversold"])
	assert.Zero(t, fields["sold_twice"])
	assert.Zero(t, fields["lost"])
	assert.Zero(t, fields["no_answer"])
	assert.Equal(t, fields["left_in_database"], fields["left_in_redis"])
	assert.Empty(t, fields["violations"])
	refused := 0.0
	for _, n := range fields["refused_by"].(map[string]any) {
		refused += n.(float64)
	}
	assert.InDelta(t, fields["refused"], refused, 0)
	assert.InDelta(t, fields["requests"], fields["orders"].(float64)+refused+fields["no_answer"].(float64), 0, "requests, and their outcomes")
}

// It runs before those that run beside each other: where a call to the embedded stores takes longer than
// half a second, units come back from holds only after the last buyer has gone.
func TestDemo_Run_SellsExactlyItsStock(t *testing.T) { //nolint:paralleltest // see above
	for _, c := range testservers.Sample(t, 3, []struct {
		name, args string
		committed  int
	}{
		{"a small one", "--users 1000 --stock 50", 50},
		{"with two units per user", "--users 300 --stock 50 --limit 2", 50},
		{"over one shard", "--users 300 --stock 50 --shards 1", 50},
		{"over more shards than units", "--users 100 --stock 10 --shards 16", 10},
		{"with more stock than buyers", "--users 60 --stock 500", 60},
		{"with one unit and one shard left", "--users 50 --stock 1 --shards 2", 1},
	}) {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			p := run(t, []string{"TMPDIR=" + temp}, append([]string{"demo", "--json"}, strings.Fields(c.args)...)...)
			require.Zero(t, p.code(), p.err.String())
			isReport(t, p.out.String(), c.committed)
			assert.Empty(t, left(t, temp), "left in the temporary folder")
		})
	}
}

func TestDemo_TextOutput_SaysWhatHappened(t *testing.T) {
	t.Parallel()
	p := run(t, nil, "demo", "--users", "100", "--stock", "10")
	assert.Zero(t, p.code())
	for _, word := range []string{"100 people want 10 coupons, one each", "bought ", "sold_out", "Sold out after", "oversold 0", "AUDIT CLEAN", "lab run unlock-before-commit"} {
		assert.Contains(t, p.out.String(), word)
	}
	for line := range strings.Lines(p.out.String()) {
		if !strings.Contains(line, " demo --") && !strings.Contains(line, " lab run ") { // they have the path of the program
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 78, line)
		}
	}
	assert.NotContains(t, p.out.String()+p.err.String(), "\x1b", "no colour on a pipe")
}

// The server of a newcomer has embedded stores and no secret that he knows.
func TestRush_BesideAnEmbeddedServe_IsAudited(t *testing.T) {
	t.Parallel()
	p := launch(t, freePort, "serve")
	i := &instance{process: p}
	i.url, i.admin = p.serving(t)
	rush := run(t, nil, "rush", "--url", i.url, "--users", "200")
	assert.Zero(t, rush.code(), rush.err.String())
	assert.Contains(t, rush.out.String(), "AUDIT CLEAN  200 of 1,000 sold, 800 left\n")
	none := run(t, nil, "rush", "--url", i.url, "--users", "20", "--first-user", "1000", "--no-audit")
	assert.Zero(t, none.code(), none.err.String())
	assert.Contains(t, none.out.String(), "AUDIT NOT RUN: it was left out on request.\n")
}

func TestCtrlC_DemoAndServer_LeaveNoFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"demo in the middle of the rush": {args: []string{"demo", "--users", "20000", "--stock", "10000"}, code: 1},
		"serve":                          {args: []string{"serve"}, code: 0},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			p := launch(t, []string{"TMPDIR=" + temp, "SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}, c.args...)
			within(t, 20*time.Second, func() error {
				if len(left(t, temp)) == 0 || !strings.Contains(p.out.String(), "http://") {
					return assert.AnError
				}
				return nil
			})
			if c.args[0] == "demo" { // until somebody buys
				size := func() (n int64) {
					for _, file := range left(t, temp) {
						if info, err := os.Stat(file); err == nil {
							n += info.Size()
						}
					}
					return n
				}
				from := size()
				within(t, 20*time.Second, func() error {
					if size() < from+50_000 {
						return assert.AnError
					}
					return nil
				})
			}
			p.signal(t, syscall.SIGINT)
			asked := time.Now()
			assert.Equal(t, c.code, p.await(t, 20*time.Second), p.err.String())
			assert.Less(t, time.Since(asked), 12*time.Second, "it waits for nothing that would take the whole of its 15 s")
			assert.Empty(t, left(t, temp), "left in the temporary folder")
		})
	}
}

func TestServe_NoConfiguration_SellsCoupon1(t *testing.T) {
	t.Parallel()
	p := launch(t, []string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}, "serve")
	i := &instance{process: p}
	i.url, i.admin = p.serving(t)
	within(t, 10*time.Second, func() error {
		if !strings.Contains(p.out.String(), "admin token: ") {
			return assert.AnError
		}
		return nil
	})
	assert.Contains(t, p.out.String(), i.url+"/api/v1/coupons/1")
	assert.Contains(t, p.err.String(), "development mode", "it says in one line what was made up")
	assert.Equal(t, http.StatusOK, httpStatus(t, i.url+"/"))
	assert.Equal(t, http.StatusOK, httpStatus(t, i.url+"/openapi.json"))
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/pprof/"} {
		assert.Equal(t, http.StatusOK, httpStatus(t, i.admin+path), path)
		assert.Equal(t, http.StatusNotFound, httpStatus(t, i.url+path), "%s on the public listener", path)
	}
	buyer := i.as(t, 0)
	login := buyer.do(http.MethodPost, "/api/v1/sessions", `{"user_id":"42"}`)
	require.Equal(t, http.StatusCreated, login.status, login.body)
	var session struct {
		Token string `json:"token"`
	}
	require.NoError(t, json.Unmarshal([]byte(login.body), &session))
	buyer.token = session.Token
	assert.Equal(t, "42", buyer.buy("1", "").sold(t, http.StatusCreated).UserID)

	admin := i.as(t, 0)
	admin.token = regexp.MustCompile(`admin token: (\S+)`).FindStringSubmatch(p.out.String())[1]
	assert.Equal(t, http.StatusOK, admin.do(http.MethodGet, "/api/v1/admin/coupons/1/audit", "").status)
}

func TestDemo_KeepServing_ServesAfterwards(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	p := launch(t, nil, "demo", "--users", "100", "--stock", "5", "--keep-serving", "--starts-in", "2s")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	within(t, 40*time.Second, func() error {
		if !strings.Contains(p.out.String(), "admin token: ") {
			return assert.AnError
		}
		return nil
	})
	url := address.FindString(p.out.String())
	assert.Equal(t, http.StatusOK, httpStatus(t, url+"/"))
	c := client{t: t, url: url, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	within(t, 5*time.Second, func() error { // a look may be half a second old
		remains, err := c.left("1")
		if err == nil && remains > 0 {
			err = fmt.Errorf("%d are left", remains)
		}
		return err
	})
	assert.Zero(t, p.stop(t), p.err.String())
}

// left lists the files below a folder.
func left(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && path != dir {
			files = append(files, path)
		}
		return nil // what goes away meanwhile is not there
	})
	return files
}
