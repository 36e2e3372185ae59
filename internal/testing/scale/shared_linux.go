package scale

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of /proc/stat.
const tick = 10 * time.Millisecond

// useOfMachine reads the first line of /proc/stat. It returns no busy time if that fails.
func useOfMachine() machineUse {
	u := machineUse{at: time.Now()}
	text, err := os.ReadFile("/proc/stat")
	var self syscall.Rusage
	if err != nil || syscall.Getrusage(syscall.RUSAGE_SELF, &self) != nil {
		return u
	}
	u.self = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	u.busy, u.stolen = parseStat(string(text))
	return u
}

// parseStat reads "cpu user nice system idle iowait irq softirq steal …". Interrupts count for no process,
// and most are of the run's own connections.
func parseStat(text string) (busy, stolen time.Duration) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0
	}
	ticks := func(n int) time.Duration {
		count, _ := strconv.ParseInt(fields[n], 10, 64)
		return time.Duration(count) * tick
	}
	return ticks(1) + ticks(2) + ticks(3), ticks(8)
}
