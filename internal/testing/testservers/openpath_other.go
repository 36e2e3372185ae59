//go:build !linux

package testservers

import "os"

// openPath returns the path of a program's file. Tests that build the same program at the same time may replace it.
func openPath(f *os.File) string { return f.Name() }
