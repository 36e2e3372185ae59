//go:build !linux

package servers

// awaitStop returns at once: this system does not report when a signal has stopped a process.
func (p *Process) awaitStop() error { return nil }

// Stopped reports whether SIGSTOP has stopped a process. It is always false: only Linux has the answer in /proc. Tools
// that depend on it call NeedLinux.
func Stopped(int) bool { return false }
