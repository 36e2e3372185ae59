package bench

import (
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"example.com/seckill/internal/tools/servers"
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
		servers.Machine(),
		servers.GoVersion() + ", " + servers.RedisVersion(ctx, b.env.rdb) + ", " + b.env.mariaVersion(ctx),
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
		return servers.Unknown
	}
	if changes, err := git("status", "--porcelain"); err != nil || changes != "" {
		head += " with changes"
	}
	return head
}

func (h *env) mariaVersion(ctx context.Context) string {
	db, err := sql.Open("mysql", h.MariaDB.DSN(""))
	if err != nil {
		return servers.Unknown
	}
	defer func() { _ = db.Close() }() // nothing is kept in it
	return servers.MariaDBVersion(ctx, db)
}
