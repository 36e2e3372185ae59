package servers

import (
	"context"
	"database/sql"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Unknown is what stands for a thing that does not tell its version.
const Unknown = "unknown"

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
