package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// awaitStop returns when SIGSTOP has stopped every thread of the server.
func (p *Process) awaitStop() error {
	for end := time.Now().Add(stopGrace); !Stopped(p.cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s did not stop within %s of SIGSTOP", p.path, stopGrace)
		}
	}
	return nil
}

// Stopped reports whether SIGSTOP has stopped every thread of a process. On a busy machine the threads run on for a
// while after the signal.
func Stopped(pid int) bool {
	stopped := func(stat string) bool {
		text, err := os.ReadFile(stat)
		_, state, _ := bytes.Cut(text, []byte(") "))
		return err == nil && bytes.HasPrefix(state, []byte("T"))
	}
	// The first thread alone mostly has the answer, and to find the others costs more.
	if !stopped(fmt.Sprintf("/proc/%d/stat", pid)) {
		return false
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return err == nil && len(threads) > 0 && !slices.ContainsFunc(threads, func(stat string) bool { return !stopped(stat) })
}
