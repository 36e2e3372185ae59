package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"seckill/internal/faults"
	"seckill/internal/servers"
)

// instance is one `seckill serve`, which may die and be started again. A new process
// has new addresses: a port that nobody listens on could be taken by anybody.
type instance struct {
	name    string
	program string
	env     []string
	dir     string

	mu    sync.Mutex
	life  *life
	out   bool // is given no new requests
	lives int
}

// life is one process.
type life struct {
	cmd   *exec.Cmd
	gone  <-chan struct{}
	log   *bytes.Buffer
	logMu sync.Mutex
	url   string
	admin string
}

const (
	startWithin = 30 * time.Second
	stopWithin  = 20 * time.Second
)

// start starts a process and waits until it serves.
func (i *instance) start(ctx context.Context) error {
	l := &life{cmd: exec.Command(i.program, "serve"), log: &bytes.Buffer{}} //nolint:gosec,noctx // our own program, which outlives ctx
	l.cmd.Args[0] = "seckill"
	l.cmd.Dir = i.dir
	l.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + i.dir, "TMPDIR=" + i.dir,
		"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0", "SECKILL_LOG__FORMAT=json",
	}, i.env...)
	l.cmd.Stderr = l
	gone, err := servers.Start(l.cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", i.name, err)
	}
	l.gone = gone
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for !l.serving() {
		select {
		case <-l.gone:
			return fmt.Errorf("%s ended at start: %s: %s", i.name, l.cmd.ProcessState, l.tail())
		case <-ctx.Done():
			l.signal(syscall.SIGKILL)
			<-l.gone
			return fmt.Errorf("%s does not serve: %s", i.name, l.tail())
		case <-time.After(5 * time.Millisecond):
		}
	}
	i.mu.Lock()
	i.life, i.out = l, false
	i.lives++
	i.mu.Unlock()
	return nil
}

// Write keeps what the process says, but for the oldest.
func (l *life) Write(p []byte) (int, error) {
	const keep = 64 << 10
	l.logMu.Lock()
	defer l.logMu.Unlock()
	if l.log.Len() > keep {
		l.log.Next(l.log.Len() / 2)
	}
	return l.log.Write(p) //nolint:wrapcheck // a buffer has no errors
}

func (l *life) text() string {
	l.logMu.Lock()
	defer l.logMu.Unlock()
	return l.log.String()
}

// tail is the end of what the process said, in one line.
func (l *life) tail() string {
	text := strings.TrimSpace(l.text())
	return strings.ReplaceAll(text[max(0, len(text)-1500):], "\n", " | ")
}

// serving reads the addresses from the log.
func (l *life) serving() bool {
	lines := bufio.NewScanner(strings.NewReader(l.text()))
	for lines.Scan() {
		var said struct {
			Msg   string `json:"msg"`
			URL   string `json:"url"`
			Admin string `json:"admin"`
		}
		if json.Unmarshal(lines.Bytes(), &said) == nil && said.Msg == "serving" {
			l.url, l.admin = said.URL, "http://"+said.Admin
			return true
		}
	}
	return false
}

func (l *life) ended() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// stopped says whether the process is stopped by SIGSTOP.
func (l *life) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.cmd.Process.Pid))
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return err == nil && bytes.HasPrefix(state, []byte("T"))
}

func (l *life) signal(s syscall.Signal) { _ = l.cmd.Process.Signal(s) } // it may be gone already

// killed says whether the process was ended by SIGKILL.
func (l *life) killed() bool {
	status, ok := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func (i *instance) now() *life {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.life
}

// url is where requests go now; empty if none should.
func (i *instance) url() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.out || i.life == nil {
		return ""
	}
	return i.life.url
}

// leave keeps new requests away, as a load balancer does with what is not ready.
func (i *instance) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.out = true
}

// end ends the process, in order if it can.
func (i *instance) end() error {
	l := i.now()
	if l == nil || l.ended() {
		return nil
	}
	l.signal(syscall.SIGTERM)
	l.signal(syscall.SIGCONT)
	select {
	case <-l.gone:
	case <-time.After(stopWithin):
		l.signal(syscall.SIGKILL)
		<-l.gone
		return fmt.Errorf("%s did not end within %s of SIGTERM: %s", i.name, stopWithin, l.tail())
	}
	if !l.cmd.ProcessState.Success() {
		return fmt.Errorf("%s ended with %s: %s", i.name, l.cmd.ProcessState, l.tail())
	}
	return nil
}

// admins asks the second listener. It answers at once or is not there.
var admins = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// arm replaces the faults of the instance.
func (i *instance) arm(ctx context.Context, spec string) error {
	_, err := i.faults(ctx, http.MethodPut, spec)
	return err
}

// state tells what has struck since the faults were armed.
func (i *instance) state(ctx context.Context) (faults.State, error) {
	return i.faults(ctx, http.MethodGet, "")
}

func (i *instance) faults(ctx context.Context, method, body string) (s faults.State, err error) {
	l := i.now()
	if l == nil || l.ended() {
		return s, errors.New("it does not run")
	}
	req, err := http.NewRequestWithContext(ctx, method, l.admin+faults.Path, strings.NewReader(body))
	if err != nil {
		return s, fmt.Errorf("faults of %s: %w", i.name, err)
	}
	resp, err := admins.Do(req)
	if err != nil {
		return s, fmt.Errorf("faults of %s: %w", i.name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("faults of %s: %w", i.name, err)
	}
	return s, nil
}
