//go:build unix

package servers

import "syscall"

// Killed reports whether SIGKILL ended the program. The program must have ended.
func (p *Program) Killed() bool {
	status, ok := p.State().Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
