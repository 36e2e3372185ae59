// Command schedlatency tells how late this machine wakes a thread of the highest priority. For each
// line of its input it prints the longest delay since the line before, in nanoseconds, of a thread on
// each core that sleeps for five milliseconds at a time. No process takes a core from such a thread, so
// of what takes longer than its work, that much may be the machine's own doing.
//
//	go run ./internal/testing/cmd/schedlatency
//
// It exits with 1 and one line if it may not have that priority (SCHED_FIFO, as root or with
// CAP_SYS_NICE).
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "schedlatency:", err)
		os.Exit(1)
	}
}
