package servers

// Killed reports whether SIGKILL ended the program. It is always false: Windows has no signals.
func (p *Program) Killed() bool { return false }
