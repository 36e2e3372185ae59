package system

import (
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
)

// The signals that stop and continue a process. Windows has neither; SignalGroup returns an error for both.
const (
	SIGSTOP = syscall.Signal(0x13)
	SIGCONT = syscall.Signal(0x12)
)

// Group makes cmd start in a process group of its own, which a Ctrl-C at the console does not reach. Call it before
// cmd.Start.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// SignalGroup ends the process pid and all of its descendants. Windows has no signals: SIGTERM and SIGKILL both end
// the processes at once, and any other signal is an *UnsupportedError.
func SignalGroup(pid int, s syscall.Signal) error {
	if s != syscall.SIGKILL && s != syscall.SIGTERM {
		return &UnsupportedError{Thing: fmt.Sprintf("the signal %d", int(s)), Instead: "use Linux or macOS"}
	}
	text, err := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).CombinedOutput() //nolint:gosec,noctx // a number
	if err != nil {
		return fmt.Errorf("taskkill: %w: %s", err, text)
	}
	return nil
}
