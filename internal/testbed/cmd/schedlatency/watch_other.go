//go:build !linux

package main

import "seckill/internal/testbed/servers"

func run() error { return servers.NeedLinux("the priority SCHED_FIFO") }
