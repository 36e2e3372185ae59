package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"

	"example.com/seckill/internal/order"
)

// maxAttempts is the first run of a transaction and at most two more.
const maxAttempts = 3

// InTx runs work in a transaction at READ COMMITTED: a snapshot from before the lock was held could not be trusted.
// The begin sets the level, because MySQL and MariaDB have different names for the session's variable.
//
// An error of work rolls back. After a deadlock, a lock-wait timeout or an interrupted
// statement the whole of work is run again. A failed commit is order.ErrCommitUnknown and is never run again.
func (s *Store) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	return retry(ctx, func() error {
		return s.runTx(ctx, s.write, &sql.TxOptions{Isolation: s.isolation}, func(ctx context.Context, db *gorm.DB) error {
			return work(ctx, tx{db})
		})
	})
}

// retry runs what fails with errRetry again, while there is budget left.
func retry(ctx context.Context, run func() error) (err error) {
	for try := range maxAttempts {
		if try > 0 && !backoff(ctx, try) {
			break
		}
		if err = run(); !errors.Is(err, errRetry) {
			break
		}
	}
	return err
}

// backoff waits for a random moment, so that transactions that met in a deadlock do not
// meet again. It reports whether there is budget left.
func backoff(ctx context.Context, try int) bool {
	t := time.NewTimer(time.Duration(rand.Int64N(int64(try) * int64(10*time.Millisecond)))) //nolint:gosec // spreads, does not guard
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// runTx is the only place that begins and commits. The transaction has a budget of
// its own, so that none holds the coupon's row for longer.
func (s *Store) runTx(ctx context.Context, db *gorm.DB, o *sql.TxOptions,
	work func(ctx context.Context, db *gorm.DB) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, s.txTimeout)
	defer cancel()
	begun := db.WithContext(ctx).Begin(o)
	if begun.Error != nil {
		return classify(fmt.Errorf("begin: %w", begun.Error))
	}
	defer begun.Rollback() // after a commit it does nothing
	if err := work(ctx, begun); err != nil {
		return classify(err)
	}
	if failed := begun.Commit().Error; failed != nil {
		return fmt.Errorf("%w: %w", order.ErrCommitUnknown, failed)
	}
	return nil
}
