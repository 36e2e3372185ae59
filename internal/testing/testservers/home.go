package testservers

import (
	"os"

	"example.com/seckill/internal/platform/system"
)

const (
	homes = "seckill-test-"

	memory = "/dev/shm" // on Linux a file system in memory
	enough = 2 << 30    // bytes free, for the servers of a test process
)

// parent returns the folder for the data of the servers: in memory if there is enough of it, where
// a flush costs nothing. What survives a kill of the server is the same there, and no test asks
// what survives a loss of power.
func parent() string {
	if free, err := system.FreeBytes(memory); err == nil && free >= enough {
		return memory
	}
	return os.TempDir()
}
