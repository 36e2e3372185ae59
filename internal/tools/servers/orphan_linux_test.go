package servers_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// The first thread of a process never ends. Locked here, it is the main goroutine's, so that no
// goroutine of the tests below runs on it.
func init() { runtime.LockOSThread() }

func TestServers_ParentKilled_AreKilled(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	victim := exec.CommandContext(t.Context(), os.Args[0])
	victim.Env = append(os.Environ(), victimDir+"="+t.TempDir())
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < 2 && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		require.NoError(t, err)
		require.True(t, alive(pid))
		pids = append(pids, pid)
	}
	require.Len(t, pids, 2)
	require.NoError(t, victim.Process.Kill())
	require.Error(t, victim.Wait())
	for _, pid := range pids {
		require.Eventually(t, func() bool { return dead(pid) }, soon, tick)
	}
}

func TestServer_StartingThreadEnds_LivesOn(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	type started struct {
		r      *servers.Redis
		err    error
		thread int
	}
	result := make(chan started)
	go func() {
		runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
		r, err := servers.StartRedis(t.Context(), t.TempDir())
		result <- started{r, err, syscall.Gettid()}
	}()
	s := <-result
	require.NoError(t, s.err)
	t.Cleanup(func() { require.NoError(t, s.r.Stop()) })
	require.Eventually(t, func() bool {
		_, err := os.Stat("/proc/self/task/" + strconv.Itoa(s.thread))
		return errors.Is(err, os.ErrNotExist)
	}, soon, tick)
	require.NoError(t, client(t, s.r.Addr()).Ping(t.Context()).Err())
	assert.NotZero(t, s.r.PID())
}

func TestServers_StartedAtOnce_HaveTheirOwnPorts(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	const many = 8
	addrs := make(chan string, many)
	t.Run("at once", func(t *testing.T) {
		for range many {
			t.Run("one", func(t *testing.T) {
				t.Parallel()
				addrs <- testservers.NewRedis(t).Addr()
			})
		}
	})
	close(addrs)
	seen := map[string]bool{}
	for addr := range addrs {
		assert.False(t, seen[addr], addr)
		seen[addr] = true
	}
	assert.Len(t, seen, many)
}

// dead reports whether a process that is not our child has ended: it is gone, or its new parent has
// not reaped it.
func dead(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}
