package servers

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"

	"example.com/seckill/internal/platform/system"
)

// forker starts every child of this process from one thread.
//
// On Linux a child asks the kernel to kill it when its parent dies (Pdeathsig). To the kernel the
// parent is the thread that forked, and Go ends threads at any time. So one goroutine locks one
// thread for as long as a child lives, and ends with the last child.
type forker struct {
	mu     sync.Mutex
	living int
	jobs   chan job
}

type job struct {
	cmd *exec.Cmd
	err chan error
}

// theForker serves the whole process.
var theForker forker

// Start starts any other program the way servers are started: in a process group of its own. On Linux
// the program ends with this process, however this process ends. The channel is closed when the program has ended and
// was reaped; cmd.ProcessState may be read from then on.
func Start(cmd *exec.Cmd) (gone <-chan struct{}, err error) { return theForker.start(cmd) }

// start starts cmd in its own process group. The channel is closed when the program has ended and
// was reaped; cmd.ProcessState may be read from then on.
func (f *forker) start(cmd *exec.Cmd) (<-chan struct{}, error) {
	system.Group(cmd)
	system.EndWithParent(cmd)
	if err := f.fork(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer f.release()
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
	}()
	return gone, nil
}

func (f *forker) fork(cmd *exec.Cmd) error {
	f.mu.Lock()
	if f.living == 0 {
		f.jobs = make(chan job)
		go forkOnOneThread(f.jobs)
	}
	f.living++
	jobs := f.jobs
	f.mu.Unlock()

	j := job{cmd: cmd, err: make(chan error, 1)}
	jobs <- j
	err := <-j.err
	if err != nil {
		f.release()
	}
	return err
}

// release unlocks the thread with the last child.
func (f *forker) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.living--
	if f.living == 0 {
		close(f.jobs)
	}
}

func forkOnOneThread(jobs <-chan job) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for j := range jobs {
		j.err <- j.cmd.Start()
	}
}
