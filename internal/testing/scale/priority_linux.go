package scale

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

const highestPriority = -20

// raisePriority sets the priority of every thread of a process: one that frees memory holds locks of the
// allocator that the others wait for.
func raisePriority(pid int) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range threads {
		id, failed := strconv.Atoi(t.Name())
		if failed == nil {
			failed = syscall.Setpriority(syscall.PRIO_PROCESS, id, highestPriority)
		}
		err = errors.Join(err, failed)
	}
	return err
}
