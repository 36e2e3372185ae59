//go:build unix

package system

import (
	"os/exec"
	"syscall"
)

// The signals that stop and continue a process.
const (
	SIGSTOP = syscall.SIGSTOP
	SIGCONT = syscall.SIGCONT
)

// Group makes cmd start in a process group of its own. Call it before cmd.Start.
func Group(cmd *exec.Cmd) { attributes(cmd).Setpgid = true }

// attributes returns the attributes that cmd starts with.
func attributes(cmd *exec.Cmd) *syscall.SysProcAttr {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return cmd.SysProcAttr
}

// SignalGroup sends a signal to the process group that Group made for the process pid.
func SignalGroup(pid int, s syscall.Signal) error {
	return syscall.Kill(-pid, s) //nolint:wrapcheck // the caller names the program
}
