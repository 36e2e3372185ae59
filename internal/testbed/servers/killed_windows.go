package servers

// Killed returns false: Windows does not report whether another process ended the program.
func (p *Program) Killed() bool { return false }
