package system

import (
	"os/exec"
	"syscall"
)

// EndWithParent makes the kernel kill the program when the thread that starts it ends. Call it before cmd.Start.
func EndWithParent(cmd *exec.Cmd) { attributes(cmd).Pdeathsig = syscall.SIGKILL }
