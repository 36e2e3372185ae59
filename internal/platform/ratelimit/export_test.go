package ratelimit

// Known returns how many clients are remembered.
func (l *Limiter[client]) Known() (n int) {
	for i := range l.stripes {
		n += len(l.stripes[i].young) + len(l.stripes[i].old)
	}
	return n
}
