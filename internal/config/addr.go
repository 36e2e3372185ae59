package config

// IsHostPort reports whether addr is host:port, as a listener takes it. Port 0 is a free port.
func IsHostPort(addr string) bool { return isHostPort(addr, 0) }
