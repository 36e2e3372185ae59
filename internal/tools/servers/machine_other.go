//go:build !linux

package servers

import (
	"fmt"
	"runtime"
)

// Machine returns one line about the machine that figures were measured on.
func Machine() string {
	return fmt.Sprintf("%s, %d cores for all that ran, %s", runtime.GOARCH, runtime.NumCPU(), runtime.GOOS)
}
