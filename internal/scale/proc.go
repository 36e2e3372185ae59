package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"seckill/internal/testbed/servers"
)

// tick is the unit of times in /proc: USER_HZ, which is 100 wherever Go runs on Linux.
const tick = 10 * time.Millisecond

// cpuOf is the processor time that a process has used, all its threads together.
func cpuOf(pid int) (time.Duration, error) {
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

// peakOf is the most memory that a process has had resident since resetPeak, in bytes.
func peakOf(pid int) (int64, error) {
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

func resetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak of memory: %w", err)
	}
	return nil
}

// loadAverage is how many programs have wanted a core in the last minute.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// peakEvery is how often the memory of a command is looked at: it cannot be asked after the
// end, and what the kernel then tells counts the memory of this process, too.
const peakEvery = 10 * time.Millisecond

// run runs a command of the program to its end and returns what it printed. The row, if
// there is one, gets its processor time and, if it is larger, its memory.
func (s *sale) run(ctx context.Context, r *Row, args ...string) (string, error) {
	cmd := s.command(s.settings, args...)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	gone, err := servers.Start(cmd)
	if err != nil {
		return "", err
	}
	look := time.NewTicker(peakEvery)
	defer look.Stop()
	var peak int64
	for running := true; running; {
		select {
		case <-gone:
			running = false
		case <-look.C:
			if now, err := peakOf(cmd.Process.Pid); err == nil {
				peak = max(peak, now)
			}
		case <-ctx.Done():
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-gone
			return "", context.Cause(ctx)
		}
	}
	if r != nil {
		r.Memory.Program = max(r.Memory.Program, peak)
		r.CPU += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if !cmd.ProcessState.Success() {
		err = errors.New("seckill " + args[0] + ": " + cmd.ProcessState.String() + ": " + failed.String())
	}
	return out.String(), err
}
