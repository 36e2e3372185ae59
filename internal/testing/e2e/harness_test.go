package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/system"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// process is one run of the program.
type process struct {
	cmd      *exec.Cmd
	out, err transcript
	gone     chan struct{} // closed when it has ended
	stopping bool          // it was sent SIGTERM; a second one would end it at once
	since    time.Time
}

// busy bounds a wait on a busy machine. A promised time has a bound of its own, in the test of the promise.
const busy = 2 * time.Minute

// launch starts the program with the given SECKILL_ variables, and with the few variables that every program needs.
func launch(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	return launchLogging(t, nil, env, args...)
}

// launchLogging is launch with a standard error of the test's own, unless log is nil.
func launchLogging(t testing.TB, log *os.File, env []string, args ...string) *process {
	t.Helper()
	return launchBuild(t, drawnBuild(t), log, env, args...)
}

// drawnBuild is the program that a test runs: in one of eight, drawn anew with each seed, it has the race
// detector. That makes the program three times as slow, and most of two cores would go to it.
func drawnBuild(t testing.TB) string {
	t.Helper()
	if testservers.Drawn(t, 8) {
		return program
	}
	return plain
}

// launchBuild is launchLogging with another build of the program.
func launchBuild(t testing.TB, build string, log *os.File, env []string, args ...string) *process {
	t.Helper()
	dependOnSources()
	p := &process{cmd: exec.Command(build, args...), gone: make(chan struct{}), since: time.Now()}
	p.cmd.Args[0] = "seckill"
	p.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
		"GORACE=atexit_sleep_ms=0", // the race detector would let every end take a second longer
	}, env...)
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if log != nil {
		p.cmd.Stderr = log
	}
	// The kernel kills the program together with the tests.
	system.EndWithParent(p.cmd)
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // the exit code is read from the state
		close(p.gone)
	}()
	t.Cleanup(func() {
		if !p.ended() && p.stop(t) != 0 && !p.leftByAStore() {
			t.Errorf("exit code %d of %v", p.code(), args)
		}
		p.check(t)
	})
	return p
}

// run starts the program and waits until it has ended by itself.
func run(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	p := launch(t, env, args...)
	p.await(t, busy)
	return p
}

// leftByAStore reports whether the last line says that a store did not respond during the stop, as on a busy machine.
// The program then could not give back its worker number.
func (p *process) leftByAStore() bool {
	said := strings.Split(strings.TrimSpace(p.err.String()), "\n")
	last := said[len(said)-1]
	return strings.HasPrefix(last, "seckill: idworker: ") && strings.Contains(last, "backend not responding")
}

// check looks for text that no run of the program may write.
func (p *process) check(t testing.TB) {
	for _, bad := range []string{"DATA RACE", "panic:", "goroutine "} {
		if strings.Contains(p.err.String(), bad) {
			t.Errorf("%v wrote %q", p.cmd.Args, bad)
		}
	}
	if t.Failed() {
		t.Logf("%v, exit code %d, wrote to stderr:\n%s", p.cmd.Args, p.code(), p.err.tail())
	}
}

func (p *process) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// code is the exit code: -1 while it runs and after a kill.
func (p *process) code() int {
	if !p.ended() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// await waits for the end and gives the exit code.
func (p *process) await(t testing.TB, within time.Duration) int {
	t.Helper()
	select {
	case <-p.gone:
	case <-time.After(within):
		p.signal(t, syscall.SIGQUIT) // it writes its stacks
		<-p.gone
		t.Fatalf("%v did not end within %s", p.cmd.Args, within)
	}
	return p.code()
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	p.stopping = p.stopping || s == syscall.SIGTERM
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// stop sends SIGTERM once, as a service manager does, and returns the exit code.
func (p *process) stop(t testing.TB) int {
	t.Helper()
	if !p.stopping {
		p.signal(t, syscall.SIGTERM)
	}
	p.resume(t) // one that a failed test left paused would not hear it
	return p.await(t, busy)
}

// kill ends it as kill -9 does.
func (p *process) kill(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	<-p.gone
}

func (p *process) pause(t testing.TB) {
	t.Helper()
	p.signal(t, system.SIGSTOP)
	within(t, busy, func() error {
		if !servers.Stopped(p.cmd.Process.Pid) {
			return errors.New("its threads run on")
		}
		return nil
	})
}

func (p *process) resume(t testing.TB) { t.Helper(); p.signal(t, system.SIGCONT) }

// instance is one running `serve` or `demo --keep-serving`.
type instance struct {
	*process
	url   string // of the API, as http://127.0.0.1:port
	admin string // of the second listener
	build string // its program
	env   []string
}

// serve starts an instance on free ports and waits until it serves.
func serve(t testing.TB, env ...string) *instance {
	t.Helper()
	i := launchServe(t, env...)
	i.url, i.admin = i.serving(t)
	return i
}

// serveBuild is serve with another build of the program.
func serveBuild(t testing.TB, build string, env ...string) *instance {
	t.Helper()
	i := launchServeBuild(t, build, env...)
	i.url, i.admin = i.serving(t)
	return i
}

// launchServe starts an instance and does not wait for it.
func launchServe(t testing.TB, env ...string) *instance {
	t.Helper()
	return launchServeBuild(t, drawnBuild(t), env...)
}

func launchServeBuild(t testing.TB, build string, env ...string) *instance {
	t.Helper()
	env = append([]string{"SECKILL_HTTP__ADDR=" + freeAddr(t), "SECKILL_ADMIN__ADDR=" + freeAddr(t), "SECKILL_HTTP__DRAIN_DELAY=1s"}, env...)
	return &instance{process: launchBuild(t, build, nil, env, "serve"), build: build, env: env}
}

// freeAddr is an address at which an instance may be started again: no client takes its port while it
// is down.
func freeAddr(t testing.TB) string {
	t.Helper()
	addr, err := servers.FreeAddr(context.Background())
	require.NoError(t, err)
	return addr
}

// restart starts a new process on the same ports, with these additional settings.
func (i *instance) restart(t testing.TB, env ...string) {
	t.Helper()
	i.env = append(append(i.env, env...), "SECKILL_HTTP__ADDR="+strings.TrimPrefix(i.url, "http://"),
		"SECKILL_ADMIN__ADDR="+strings.TrimPrefix(i.admin, "http://"))
	i.process = launchBuild(t, i.build, nil, i.env, "serve")
	i.serving(t)
}

// serving waits for the log's line that tells the addresses.
func (p *process) serving(t testing.TB) (url, admin string) {
	t.Helper()
	within(t, busy, func() error {
		lines := bufio.NewScanner(strings.NewReader(p.err.String()))
		for lines.Scan() {
			var said struct {
				Msg   string `json:"msg"`
				URL   string `json:"url"`
				Admin string `json:"admin"`
			}
			if json.Unmarshal(lines.Bytes(), &said) == nil && said.Msg == "serving" {
				url, admin = said.URL, "http://"+said.Admin
				return nil
			}
		}
		if p.ended() {
			t.Fatalf("it ended with exit code %d:\n%s", p.code(), p.err.String())
		}
		return errors.New("it does not serve yet")
	})
	return url, admin
}

// within polls until the condition is nil.
func within(t testing.TB, limit time.Duration, condition func() error) {
	t.Helper()
	until := time.Now().Add(limit)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("after %s: %v", limit, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// transcript has the output of a process so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// tail is the end of it, for the report of a failed test.
func (w *transcript) tail() string {
	text := w.String()
	return text[max(0, len(text)-4000):]
}
