package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"example.com/seckill/internal/platform/system"
)

const (
	stopGrace  = 15 * time.Second      // for an orderly end, before SIGKILL
	readyEvery = 10 * time.Millisecond // between two checks whether it responds
)

// ErrNotRunning means that the server was stopped, was killed, or died.
var ErrNotRunning = errors.New("server is not running")

// Process is one server program. Its methods are safe for concurrent use, one at a time.
type Process struct {
	path string
	args []string
	env  []string // beyond our own
	addr string
	via  string // the address of a proxy before it; "" is none

	tlsAddr string // "" without TLS

	log string // receives everything that the program prints
	// ready returns nil once the program with this process id serves.
	ready func(ctx context.Context, pid int) error

	mu   sync.Mutex
	cmd  *exec.Cmd
	gone <-chan struct{} // closed when cmd has ended; nil before the first start
}

// Addr returns the server's address, host:port, or the address of the proxy that LeadThrough was given. A restart does
// not change it.
func (p *Process) Addr() string { return cmp.Or(p.via, p.addr) }

// LeadThrough has Addr return the address of a proxy before the server. Call it before other goroutines use the server.
func (p *Process) LeadThrough(proxy string) { p.via = proxy }

// PID returns the process id, or 0 if the server is not running.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return 0
	}
	return p.cmd.Process.Pid
}

// Stop stops the server in order and waits for it. It returns nil if the server was not running,
// and an error if it had to be killed after 15 seconds.
func (p *Process) Stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop()
}

// Kill ends the server at once, as kill -9 does, and waits until it is gone. It returns nil if the
// server was not running.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kill()
}

// Pause stops the server with SIGSTOP: connections stay open, and the server answers no request until Resume. On
// Linux Pause returns when every thread has stopped; other systems do not report when that is.
func (p *Process) Pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.signal(system.SIGSTOP); err != nil {
		return err
	}
	return p.awaitStop()
}

// Resume continues a paused server with SIGCONT. It has no effect on one that is not paused.
func (p *Process) Resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signal(system.SIGCONT)
}

// Restart stops the server if it runs, starts it on the same port with the same data, and waits
// until it serves or ctx ends; in the latter case it is not running.
func (p *Process) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.stop(); err != nil {
		return err
	}
	return p.start(ctx)
}

// start starts the program and waits until it serves. On an error nothing is left running.
func (p *Process) start(ctx context.Context) error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", p.path, err)
	}
	defer func() { _ = out.Close() }() // the child has its own
	from, err := out.Seek(0, 2)
	if err != nil {
		return fmt.Errorf("find the end of the log of %s: %w", p.path, err)
	}

	cmd := exec.Command(p.path, p.args...) //nolint:noctx // it outlives ctx, which bounds the start alone
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), p.env...)
	if p.gone, err = theForker.start(cmd); err != nil {
		return err
	}
	p.cmd = cmd
	if err := p.awaitReady(ctx); err != nil {
		return withLog(fmt.Errorf("start %s on %s: %w", p.path, p.addr, errors.Join(err, p.kill())), p.log, from)
	}
	return nil
}

func (p *Process) awaitReady(ctx context.Context) error {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	last := errors.New("it was not asked yet")
	for {
		select {
		case <-p.gone:
			return fmt.Errorf("it ended by itself: %s", p.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("%w while it did not answer (%w)", context.Cause(ctx), last)
		case <-tick.C:
		}
		if last = p.ready(ctx, p.cmd.Process.Pid); last == nil {
			return nil
		}
	}
}

func (p *Process) running() bool {
	if p.gone == nil {
		return false
	}
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

func (p *Process) stop() error {
	if !p.running() {
		return nil
	}
	// The order matters: a paused program ends only once it continues.
	for _, err := range []error{p.cmd.Process.Signal(syscall.SIGTERM), p.signal(system.SIGCONT)} {
		if err != nil && !hasEnded(err) && p.running() {
			return fmt.Errorf("stop %s: %w", p.path, err)
		}
	}
	select {
	case <-p.gone:
		return nil
	case <-time.After(stopGrace):
		return errors.Join(fmt.Errorf("%s did not end within %s and was killed", p.path, stopGrace), p.kill())
	}
}

func (p *Process) kill() error {
	if !p.running() {
		return nil
	}
	if err := p.signal(syscall.SIGKILL); err != nil && !hasEnded(err) && p.running() {
		return err
	}
	<-p.gone
	return nil
}

// hasEnded reports whether a signal found no process: it has ended and was reaped, and gone is about to be
// closed.
func hasEnded(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone)
}

// signal signals the whole group: Redis forks to write its files.
func (p *Process) signal(sig syscall.Signal) error {
	if !p.running() {
		return fmt.Errorf("%s to %s on %s: %w", sig, p.path, p.addr, ErrNotRunning)
	}
	if err := system.SignalGroup(p.cmd.Process.Pid, sig); err != nil {
		return fmt.Errorf("%s to %s on %s: %w", sig, p.path, p.addr, err)
	}
	return nil
}
