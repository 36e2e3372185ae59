//go:build !linux

package main

import "example.com/seckill/internal/tools/servers"

func run() error { return servers.NeedLinux("the priority SCHED_FIFO") }
