package store

import (
	"context"
	"fmt"
	"math"
)

// lockFenceSQL has the two statements on the table lock_fences in one dialect.
type lockFenceSQL struct{ next, raise string }

// The next value of the counter is max(last + 1, the server's clock in microseconds), as for the counter in Redis. So
// the value is above every fence that the orders have recorded from another lock backend. One statement reads, adds
// and returns the value, so two callers cannot get the same number. MySQL returns the number in the result of the
// statement, through LAST_INSERT_ID(x). Each connection has its own LAST_INSERT_ID.
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

// NextFence returns the next fence of a lock key. The fence is larger than every earlier fence of the key, and durable
// before NextFence returns. NextFence needs one round trip and costs a commit. It is for lock backends without a
// counter that survives their servers.
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
	done, err := s.write.ConnPool.ExecContext(ctx, next, key) // through the breaker, as every statement that may wait
	if err != nil {
		return 0, classify(err)
	}
	return done.LastInsertId() //nolint:wrapcheck // NextFence wraps it
}

// AdvanceFence makes every later fence of key larger than above. The parameter above is a fence that the database has
// recorded. AdvanceFence never lowers the counter. The counter ends at 2^63 − 1.
func (s *Store) AdvanceFence(ctx context.Context, key string, above uint64) error {
	if above >= math.MaxInt64 {
		return fmt.Errorf("raise the fence of %q above %d: more than can be counted", key, above)
	}
	err := s.withRetry(ctx, func(ctx context.Context) error {
		_, err := s.write.ConnPool.ExecContext(ctx, lockFenceStatements[s.dialect].raise, key, above)
		return classify(err)
	})
	return wrap(err, "raise the fence of %q", key)
}

// withRetry runs one statement that is a transaction by itself. After a deadlock, which has rolled the statement back,
// it runs the statement again.
func (s *Store) withRetry(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.txTimeout)
	defer cancel()
	return retry(ctx, func() error { return run(ctx) })
}
