package testservers

import (
	"fmt"
	"os"
)

// openPath returns a path of an open program that still works after another test has replaced its file.
func openPath(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }
