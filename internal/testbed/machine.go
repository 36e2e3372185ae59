package testbed

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Unknown is what stands for a thing that does not tell its version.
const Unknown = "unknown"

// Machine says on one line what figures were measured on.
func Machine() string {
	kib, _ := strconv.ParseFloat(FirstWord(after("/proc/meminfo", "MemTotal", "0")), 64)
	return fmt.Sprintf("%s, %d cores for all that ran, %.0f GiB of memory, Linux %s, load %s at the start",
		after("/proc/cpuinfo", "model name", runtime.GOARCH), runtime.NumCPU(), kib/(1<<20),
		fileWord("/proc/sys/kernel/osrelease"), fileWord("/proc/loadavg"))
}

// GoVersion returns the version of Go.
func GoVersion() string { return "Go " + strings.TrimPrefix(runtime.Version(), "go") }

// RedisVersion returns the version of a Redis.
func RedisVersion(ctx context.Context, c redis.UniversalClient) string {
	info, _ := c.Info(ctx, "server").Result()
	_, rest, _ := strings.Cut(info, "redis_version:")
	return "Redis " + FirstWord(rest)
}

// MariaDBVersion returns the version of a MariaDB.
func MariaDBVersion(ctx context.Context, db *sql.DB) string {
	version := Unknown
	_ = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version) // unknown, then
	return "MariaDB " + version
}

// FirstWord returns the first word of a text, or Unknown.
func FirstWord(text string) string {
	if words := strings.Fields(text); len(words) > 0 {
		return words[0]
	}
	return Unknown
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
