package servers

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of times in /proc: USER_HZ, which is 100 wherever Go runs on Linux.
const tick = 10 * time.Millisecond

// CPU returns the processor time that a process has used, of all its threads.
func CPU(pid int) (time.Duration, error) {
	file := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	// The name may have blanks and brackets in it; the fields after it have none.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, system = 11, 12 // counted from the state
	if len(fields) <= system {
		return 0, fmt.Errorf("%s has too few fields", file)
	}
	var ticks int64
	for _, f := range fields[user : system+1] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// PeakMemory returns the most memory that a process has had resident, in bytes, since it began or
// ResetPeakMemory.
func PeakMemory(pid int) (int64, error) {
	file := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("read the memory: %w", err)
	}
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	words := bytes.Fields(after)
	if len(words) == 0 {
		return 0, fmt.Errorf("%s has no VmHWM", file)
	}
	kib, err := strconv.ParseInt(string(words[0]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	return kib << 10, nil
}

// ResetPeakMemory has PeakMemory count from what the process has resident.
func ResetPeakMemory(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak of memory: %w", err)
	}
	return nil
}
