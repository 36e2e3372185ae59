package store

import (
	"context"
	"fmt"
	"time"
)

// Time returns the server's time of day. SQLite has that of this process.
func (s *Store) Time(ctx context.Context) (now time.Time, err error) {
	if s.dialect == sqliteDialect {
		return s.now(), nil
	}
	if err := s.pools[0].QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the time: %w", err)
	}
	return now, nil
}
