package servers

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine says on one line what figures were measured on.
func Machine() string {
	kib, _ := strconv.ParseFloat(FirstWord(after("/proc/meminfo", "MemTotal", "0")), 64)
	return fmt.Sprintf("%s, %d cores for all that ran, %.0f GiB of memory, Linux %s, load %s at the start",
		after("/proc/cpuinfo", "model name", runtime.GOARCH), runtime.NumCPU(), kib/(1<<20),
		fileWord("/proc/sys/kernel/osrelease"), fileWord("/proc/loadavg"))
}

func fileWord(file string) string {
	text, _ := os.ReadFile(file)
	return FirstWord(string(text))
}

// after returns the value behind a name and a colon in a file of /proc.
func after(file, name, otherwise string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.Trim(rest, " \t:\n")
		}
	}
	return otherwise
}
