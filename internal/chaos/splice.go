package chaos

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// errBadConn makes database/sql close a connection instead of keeping it.
var errBadConn = driver.ErrBadConn

func splitAddr(addr string) (host, port string, err error) {
	if host, port, err = net.SplitHostPort(addr); err != nil {
		return "", "", fmt.Errorf("read an address: %w", err)
	}
	return host, port, nil
}

// replicates reports whether a replica has caught up with its master.
func replicates(ctx context.Context, c *redis.Client) bool {
	info, err := c.Info(ctx, "replication").Result()
	return err == nil && strings.Contains(info, "master_link_status:up")
}
