// Package system holds the calls that differ between operating systems, so that every other package compiles on
// Linux, macOS and Windows.
//
//	group_*.go        process groups and their signals
//	parent_*.go       a program that ends with the process that started it
//	limits_*.go       descriptors and free space on a disk
//	terminal_*.go     colours on a terminal
//
// A file name or a build tag selects the system: no code compares runtime.GOOS. A call that a system lacks returns an
// *UnsupportedError, which names the system and what the user can do instead.
package system

import (
	"errors"
	"runtime"
)

// UnsupportedError means that this operating system lacks something that a tool needs.
type UnsupportedError struct {
	Thing   string // what the tool needs, such as "starting a private Redis"
	Instead string // what the user can do on this system
}

// Error names the system, the thing and what works instead.
func (e *UnsupportedError) Error() string {
	return runtime.GOOS + " does not support " + e.Thing + ": " + e.Instead
}

// Is reports whether target is errors.ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }
