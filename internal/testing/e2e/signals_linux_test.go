package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logPipe is a pipe that holds a page: the reader stops reading, and that is soon felt.
func logPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	const setPipeSize = 1031 // F_SETPIPE_SZ
	_, _, failed := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), setPipeSize, 4096)
	require.Zero(t, failed)
	return r, w
}

func TestSignals_LogGoneAndSIGHUP_ThenSecondSIGTERMEnds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r, w := logPipe(t)
	p := launchLogging(t, w, append([]string{
		"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0", "SECKILL_HTTP__DRAIN_DELAY=1m", "SECKILL_LOG__LEVEL=debug",
	}, s.env...), "serve")
	require.NoError(t, w.Close())
	i := &instance{process: p}
	lines := bufio.NewReader(r)
	for i.url == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		var said struct{ Msg, URL, Admin string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "serving" {
			i.url, i.admin = said.URL, "http://"+said.Admin
		}
	}

	// From here on no process reads the log.
	id := i.sale(t, 10, 1)
	admin := i.as(t, 0)
	admin.token = token(t, 1, "admin")
	require.Equal(t, http.StatusOK, admin.do(http.MethodDelete, "/api/v1/admin/coupons/"+id+"/publication", "").status)
	buyer := i.as(t, 7)
	for range 30 { // each leaves a line of some 200 bytes
		buyer.buy(id, "").isProblem(t, http.StatusServiceUnavailable, "sale_paused")
	}
	p.signal(t, syscall.SIGHUP)
	buyer.buy(id, "").isProblem(t, http.StatusServiceUnavailable, "sale_paused")

	rest := make(chan string, 1)
	go func() { text, _ := io.ReadAll(lines); rest <- string(text) }()
	p.signal(t, syscall.SIGTERM)
	within(t, 10*time.Second, func() error {
		if httpStatus(t, i.admin+"/readyz") != http.StatusServiceUnavailable {
			return assert.AnError
		}
		return nil
	})
	buyer.buy(id, "").isProblem(t, http.StatusServiceUnavailable, "sale_paused") // it still takes requests
	time.Sleep(600 * time.Millisecond)                                           // sooner it is taken for the same signal
	p.signal(t, syscall.SIGTERM)
	assert.Equal(t, 1, p.await(t, 20*time.Second), "and not after a minute")
	assert.Contains(t, <-rest, "seckill: ended at once by a second signal: 0 requests in flight were cut off")
}

func TestLog_ReaderGone_ServerGoesOn(t *testing.T) {
	t.Parallel()
	r, w := logPipe(t)
	p := launchLogging(t, w, []string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}, "serve")
	require.NoError(t, w.Close())
	within(t, 20*time.Second, func() error {
		if !strings.Contains(p.out.String(), "admin token: ") {
			return assert.AnError
		}
		return nil
	})
	require.NoError(t, r.Close())
	p.signal(t, syscall.SIGTERM) // it logs that it stops
	assert.Zero(t, p.await(t, 20*time.Second), "SIGPIPE has not ended it")
}
