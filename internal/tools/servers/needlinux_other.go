//go:build !linux

package servers

import "example.com/seckill/internal/platform/system"

// NeedLinux returns nil on Linux. On another system it returns a *system.UnsupportedError that names the system and the
// thing that the caller needs Linux for.
func NeedLinux(thing string) error {
	return &system.UnsupportedError{Thing: thing, Instead: "run it on Linux, for example in a container or a virtual machine"}
}
