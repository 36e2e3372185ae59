package bench

import (
	"bufio"
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

	"seckill/internal/servers"
)

const (
	startWithin = 30 * time.Second
	stopWithin  = 30 * time.Second
)

// process is a program that was started and says where it serves.
type process struct {
	cmd  *exec.Cmd
	gone <-chan struct{}
	url  string
	side string // the second listener, of metrics; "" if it has none

	mu  sync.Mutex
	log bytes.Buffer
}

// start starts a program and waits until its log says "serving" and where.
func start(ctx context.Context, dir, program string, env []string, args ...string) (*process, error) {
	p := &process{cmd: command(ctx, dir, program, env, args...)}
	p.cmd.Stderr = p
	var err error
	if p.gone, err = servers.Start(p.cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !p.serving() {
		select {
		case <-p.gone:
			return nil, fmt.Errorf("%s ended at start: %s: %s", program, p.cmd.ProcessState, p.tail())
		case <-ctx.Done():
			err := fmt.Errorf("%s does not serve: %w: %s", program, context.Cause(ctx), p.tail())
			return nil, errors.Join(err, p.stop())
		case <-tick.C:
		}
	}
	return p, nil
}

// command is a program in an environment of its own: no setting of whoever runs the
// bench may reach it. It outlives ctx, which is why it is not bound to it.
func command(ctx context.Context, dir, program string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // built by ourselves
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, env...)
	return cmd
}

// Write keeps what the process says, but for the oldest.
func (p *process) Write(text []byte) (int, error) {
	const keep = 64 << 10
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log.Len() > keep {
		p.log.Next(p.log.Len() / 2)
	}
	return p.log.Write(text) //nolint:wrapcheck // a buffer has no errors
}

// serving reads the address from the log.
func (p *process) serving() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := bufio.NewScanner(bytes.NewReader(p.log.Bytes()))
	for lines.Scan() {
		var said struct {
			Msg   string `json:"msg"`
			URL   string `json:"url"`
			Admin string `json:"admin"`
		}
		if json.Unmarshal(lines.Bytes(), &said) == nil && said.Msg == "serving" {
			p.url, p.side = said.URL, said.Admin
			return true
		}
	}
	return false
}

// tail is the end of what the process said, in one line.
func (p *process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.TrimSpace(p.log.String())
	return strings.ReplaceAll(text[max(0, len(text)-1000):], "\n", " | ")
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends it in order if it can.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-p.gone:
		return nil
	case <-time.After(stopWithin):
		_ = p.cmd.Process.Kill() // as above
		<-p.gone
		return fmt.Errorf("%s did not end within %s: %s", p.cmd.Path, stopWithin, p.tail())
	}
}
