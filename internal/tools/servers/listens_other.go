//go:build !linux

package servers

// listens returns an error: this system does not report which process listens at addr.
func listens(int, string) error { return NeedLinux("finding the process that listens on a port") }
