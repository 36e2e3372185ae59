package testservers

import (
	"os"
	"syscall"
)

const (
	homes = "seckill-test-"

	memory = "/dev/shm" // a file system of Linux that is in memory
	enough = 2 << 30    // bytes free, for the servers of a test process
)

// parent returns the folder for the data of the servers: in memory if there is enough of it, where
// a flush costs nothing. What survives a kill of the server is the same there, and no test asks
// what survives a loss of power.
func parent() string {
	var free syscall.Statfs_t
	if syscall.Statfs(memory, &free) == nil && free.Bavail*uint64(free.Bsize) >= enough {
		return memory
	}
	return os.TempDir()
}
