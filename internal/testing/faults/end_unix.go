//go:build unix

package faults

import "syscall"

// canStop reports whether this system can stop a process and continue it later.
const canStop = true

func killSelf() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL) }

func stopSelf() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }
