package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/servers"
)

// Recorded says of a result that it was not played here, but when, and on which servers.
type Recorded struct {
	At time.Time `json:"at"`
	On []string  `json:"on"` // names with versions
}

// In returns when and where it was in a language, "en" or "zh".
func (r Recorded) In(language string) string {
	day := r.At.Format(time.DateOnly)
	if language == "zh" {
		return fmt.Sprintf("%s 录制于 %s", day, strings.Join(r.On, "、"))
	}
	return fmt.Sprintf("recorded on %s, on %s", day, strings.Join(r.On, " and "))
}

// Versions returns the names and versions of the servers that an experiment with these needs runs on.
func (p *Servers) Versions(ctx context.Context, needs []Server) (on []string, err error) {
	if slices.ContainsFunc(needs, func(n Server) bool { return n == Redis || n == RealRedis || n == OwnRedis }) {
		version, err := p.redisVersion(ctx)
		if err != nil {
			return nil, err
		}
		on = append(on, "Redis "+version)
	}
	if slices.Contains(needs, Database) {
		version, err := p.databaseVersion(ctx)
		if err != nil {
			return nil, err
		}
		on = append(on, version)
	}
	return on, nil
}

func (p *Servers) redisVersion(ctx context.Context) (string, error) {
	addr, err := p.Redis(ctx, true)
	if err != nil {
		return "", err
	}
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = c.Close() }()
	info, err := c.InfoMap(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("ask Redis at %s for its version: %w", addr, err)
	}
	return info["Server"]["redis_version"], nil
}

func (p *Servers) databaseVersion(ctx context.Context) (string, error) {
	dsn, err := p.Database(ctx)
	if err != nil {
		return "", err
	}
	db, err := servers.OpenDatabase(dsn)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	var full string
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&full); err != nil {
		return "", fmt.Errorf("ask the database for its version: %w", err)
	}
	version, rest, _ := strings.Cut(full, "-")
	if strings.Contains(rest, "MariaDB") {
		return "MariaDB " + version, nil
	}
	return "MySQL " + version, nil
}
