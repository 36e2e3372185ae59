package store

import (
	"context"
	"fmt"
	"math"
)

// lockFenceSQL are the two statements on lock_fences in one dialect.
type lockFenceSQL struct{ next, raise string }

// The counter goes to max(last + 1, the server's clock in microseconds), as the one
// in Redis does: so it is above whatever the orders have recorded under a lock that
// counted elsewhere before. One statement reads, adds and answers, so two callers
// cannot get the same number. MySQL hands the number back with the statement's
// receipt, through LAST_INSERT_ID(x), which is the connection's own.
var lockFenceStatements = map[dialect]lockFenceSQL{
	mysqlDialect: {
		next: `INSERT INTO lock_fences (name, fence)
			VALUES (?, LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))))
			ON DUPLICATE KEY UPDATE fence =
				LAST_INSERT_ID(GREATEST(fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))))`,
		raise: `INSERT INTO lock_fences (name, fence) VALUES (?, ?)
			ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))`,
	},
	sqliteDialect: {
		next: `INSERT INTO lock_fences (name, fence)
			VALUES (?, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000)
			ON CONFLICT (name) DO UPDATE SET fence = MAX(fence + 1, excluded.fence)
			RETURNING fence`,
		raise: `INSERT INTO lock_fences (name, fence) VALUES (?, ?)
			ON CONFLICT (name) DO UPDATE SET fence = MAX(fence, excluded.fence)`,
	},
}

// NextFence returns the next fence of a lock key: larger than every earlier one of the
// key, durable before it is given, and in one round trip. It is for locks that have
// no counter of their own which would survive their servers. It costs a commit.
func (s *Store) NextFence(ctx context.Context, key string) (uint64, error) {
	var fence int64
	err := s.withRetry(ctx, func(ctx context.Context) (err error) {
		fence, err = s.nextFence(ctx, key)
		return err
	})
	if err != nil {
		return 0, wrap(err, "next fence of %q", key)
	}
	return uint64(fence), nil //nolint:gosec // counts up from the clock
}

func (s *Store) nextFence(ctx context.Context, key string) (fence int64, err error) {
	next := lockFenceStatements[s.dialect].next
	if s.dialect == sqliteDialect {
		err = s.pools[0].QueryRowContext(ctx, next, key).Scan(&fence)
		return fence, classify(err)
	}
	done, err := s.write.ConnPool.ExecContext(ctx, next, key) // by the breaker, as all that may wait
	if err != nil {
		return 0, classify(err)
	}
	return done.LastInsertId() //nolint:wrapcheck // NextFence wraps it
}

// RaiseFence makes every later fence of key larger than above, which the database
// has seen. It never lowers the counter, which ends at 2^63 − 1.
func (s *Store) RaiseFence(ctx context.Context, key string, above uint64) error {
	if above >= math.MaxInt64 {
		return fmt.Errorf("raise the fence of %q above %d: more than can be counted", key, above)
	}
	err := s.withRetry(ctx, func(ctx context.Context) error {
		_, err := s.write.ConnPool.ExecContext(ctx, lockFenceStatements[s.dialect].raise, key, above)
		return classify(err)
	})
	return wrap(err, "raise the fence of %q", key)
}

// withRetry runs one statement that is a transaction by itself, and again after a
// deadlock, which has rolled it back.
func (s *Store) withRetry(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.txTimeout)
	defer cancel()
	return retry(ctx, func() error { return run(ctx) })
}
