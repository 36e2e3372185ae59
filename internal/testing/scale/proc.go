package scale

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/seckill/internal/platform/system"
	"example.com/seckill/internal/tools/servers"
)

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
	return s.runProgram(ctx, r, s.Program, args...)
}

// runProgram is run with another build of the program. It is killed when ctx ends.
func (s *sale) runProgram(ctx context.Context, r *Row, program string, args ...string) (string, error) {
	cmd := servers.Command(context.WithoutCancel(ctx), s.dir, program, s.settings, args...) // its whole group is killed below
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
			if now, err := servers.PeakMemory(cmd.Process.Pid); err == nil {
				peak = max(peak, now)
			}
		case <-ctx.Done():
			_ = system.SignalGroup(cmd.Process.Pid, syscall.SIGKILL)
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
