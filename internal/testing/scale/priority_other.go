//go:build !linux

package scale

import "example.com/seckill/internal/tools/servers"

// raisePriority returns an error: only Linux gives each thread of another process a priority.
func raisePriority(int) error { return servers.NeedLinux("the priority of another process's threads") }
