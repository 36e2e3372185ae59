//go:build !linux

package system

import "os/exec"

// EndWithParent has no effect: only Linux ends a program together with the process that started it. A program whose
// parent was killed runs on, and the user ends it.
func EndWithParent(*exec.Cmd) {}
