//go:build !linux

package servers

// awaitStop returns at once: this system does not report when a signal has stopped a process.
func (p *Process) awaitStop() error { return nil }

// Stopped returns false: this system does not report whether a signal has stopped a process. Tools that depend on the
// answer call NeedLinux.
func Stopped(int) bool { return false }
