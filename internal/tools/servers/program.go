package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/seckill/internal/platform/system"
)

// Program is one run of a program of ours: it logs in JSON on standard error, and its line
// "serving" has its addresses.
type Program struct {
	URL   string // of what it serves, as http://host:port
	Admin string // of its second listener, the same way; empty if it has none

	cmd  *exec.Cmd
	gone <-chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// Command returns a run of a program under test in dir, with an environment of where programs are, a folder for its
// files and these settings, so that no setting of its user reaches it. One that was built with the race detector ends
// at once with it, and not after a second for late reports.
func Command(ctx context.Context, dir, program string, settings []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "GORACE=atexit_sleep_ms=0"}, settings...)
	return cmd
}

const programWithin = 30 * time.Second // to serve, and to end

// Serve starts cmd, whose standard error it takes, and waits until the program serves. On an error
// nothing is left running. The program outlives ctx, to which cmd must not be bound, and ends with this process.
func Serve(ctx context.Context, cmd *exec.Cmd) (*Program, error) {
	p := &Program{cmd: cmd}
	cmd.Stderr = p
	var err error
	if p.gone, err = Start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, programWithin)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for !p.serves() {
		select {
		case <-p.gone:
			return nil, fmt.Errorf("%s ended at start: %s: %s", cmd.Path, cmd.ProcessState, p.Tail())
		case <-ctx.Done():
			p.Signal(syscall.SIGKILL)
			<-p.gone
			return nil, fmt.Errorf("%s does not serve: %w: %s", cmd.Path, context.Cause(ctx), p.Tail())
		case <-tick.C:
		}
	}
	return p, nil
}

// Write implements io.Writer. It keeps the newest of what the program logs.
func (p *Program) Write(text []byte) (int, error) {
	const keep = 64 << 10
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log.Len() > keep {
		p.log.Next(p.log.Len() / 2)
	}
	return p.log.Write(text) //nolint:wrapcheck // a buffer has no errors
}

// serves reports whether the log has the addresses, and reads them.
func (p *Program) serves() bool {
	for line := range strings.Lines(p.Log()) {
		var said struct {
			Msg   string `json:"msg"`
			URL   string `json:"url"`
			Admin string `json:"admin"`
		}
		if json.Unmarshal([]byte(line), &said) != nil || said.Msg != "serving" {
			continue
		}
		if p.URL = said.URL; said.Admin != "" {
			p.Admin = "http://" + said.Admin
		}
		return true
	}
	return false
}

// Log returns the end of the program's log, at least 32 KiB of it.
func (p *Program) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Tail returns the end of the log in one line, for an error.
func (p *Program) Tail() string {
	text := strings.TrimSpace(p.Log())
	return strings.ReplaceAll(text[max(0, len(text)-logTail):], "\n", " | ")
}

// PID returns the process id.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal. It has no effect on a program that has ended.
func (p *Program) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Ended reports whether the program has ended.
func (p *Program) Ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// Stopped reports whether SIGSTOP has stopped the program.
func (p *Program) Stopped() bool { return Stopped(p.PID()) }

// State returns how the program ended, once it has.
func (p *Program) State() *os.ProcessState { return p.cmd.ProcessState }

// Stop ends the program in order and waits for it. It returns nil if it had ended before, and an
// error if it had to be killed or its exit code was not 0.
func (p *Program) Stop() error {
	if p.Ended() {
		return nil
	}
	p.Signal(syscall.SIGTERM)
	p.Signal(system.SIGCONT) // a stopped one ends only once it continues
	select {
	case <-p.gone:
	case <-time.After(programWithin):
		p.Signal(syscall.SIGKILL)
		<-p.gone
		return fmt.Errorf("%s did not end within %s of SIGTERM: %s", p.cmd.Path, programWithin, p.Tail())
	}
	if !p.State().Success() {
		return errors.New(p.cmd.Path + " ended with " + p.State().String() + ": " + p.Tail())
	}
	return nil
}
