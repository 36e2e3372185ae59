package bench

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// environment describes what a table was measured on, a line for each thing. What cannot be found
// out is unknown.
func (b *bench) environment(ctx context.Context) []string {
	size := fmt.Sprintf("medians of %d rounds, %d connections, one process each, everything on loopback", b.rounds, conns)
	if b.Quick {
		size = "QUICK: one short round, which shows that everything works and not how fast it is"
	}
	return []string{
		fmt.Sprintf("%s, revision %s", time.Now().UTC().Format("2006-01-02 15:04 MST"), revision(ctx, b.Root)),
		fmt.Sprintf("%s, %d cores for generator, program and servers together, %s of memory, Linux %s, load %s at the start",
			cpuName(), runtime.NumCPU(), memTotal(), word("/proc/sys/kernel/osrelease"), word("/proc/loadavg")),
		fmt.Sprintf("Go %s, Redis %s, MariaDB %s",
			strings.TrimPrefix(runtime.Version(), "go"), b.house.redisVersion(ctx), b.house.mariaVersion(ctx)),
		"MariaDB: innodb_flush_log_at_trx_commit=1, every commit on disk before it is answered; Redis: no persistence",
		size,
	}
}

// revision returns the revision that was built, and whether it has been changed since.
func revision(ctx context.Context, root string) string {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // constant arguments
		cmd.Dir = root
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	head, err := git("rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changes, err := git("status", "--porcelain"); err != nil || changes != "" {
		head += " with changes"
	}
	return head
}

func cpuName() string { return after("/proc/cpuinfo", "model name", runtime.GOARCH) }

func memTotal() string {
	kib, _, _ := strings.Cut(after("/proc/meminfo", "MemTotal", "0"), " ")
	return fmt.Sprintf("%.0f GiB", number(kib)/(1<<20))
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

// word returns the first word of a file.
func word(file string) string {
	text, _ := os.ReadFile(file)
	if words := strings.Fields(string(text)); len(words) > 0 {
		return words[0]
	}
	return "unknown"
}

func (h *env) redisVersion(ctx context.Context) string {
	info, _ := h.rdb.Info(ctx, "server").Result()
	_, rest, _ := strings.Cut(info, "redis_version:")
	if words := strings.Fields(rest); len(words) > 0 {
		return words[0]
	}
	return "unknown"
}

func (h *env) mariaVersion(ctx context.Context) string {
	db, err := sql.Open("mysql", h.maria.DSN(""))
	if err != nil {
		return "unknown"
	}
	defer func() { _ = db.Close() }() // nothing is kept in it
	version := "unknown"
	_ = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version) // unknown on an error
	return version
}
