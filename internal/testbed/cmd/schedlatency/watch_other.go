//go:build !linux

package main

import "example.com/seckill/internal/testbed/servers"

func run() error { return servers.NeedLinux("the priority SCHED_FIFO") }
