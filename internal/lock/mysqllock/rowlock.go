package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"seckill/internal/lock"
)

// ErrRolledBack says that the transaction was given up by the server, or must be:
// a deadlock, or a wait for a row that was too long. Nothing of it was committed.
var ErrRolledBack = errors.New("mysqllock: the transaction was rolled back")

const (
	rowThereSQL = "SELECT 1 FROM lock_fences WHERE name = ?"
	makeRowSQL  = "INSERT INTO lock_fences (name, fence) VALUES (?, 0) ON DUPLICATE KEY UPDATE name = VALUES(name)"
	lockRowSQL  = "SELECT GREATEST(fence + 1, " + clock + ") FROM lock_fences WHERE name = ? FOR UPDATE"
	countSQL    = "UPDATE lock_fences SET fence = ? WHERE name = ?"
)

// RowLock runs work in a transaction that has a row of lock_fences locked. It is no
// lock.Backend: there is no lease. The lock lasts exactly as long as the transaction,
// and whoever loses the one has lost the other, so the fence is for writes that go
// elsewhere.
//
//	begin ─▶ SELECT … FOR UPDATE ─▶ work ─▶ commit, which also frees
//	         waits here for the others, holding a connection
type RowLock struct{ db *sql.DB }

// NewRowLock makes a RowLock on a pool, which Open makes. The table is made by the
// migrations. Each caller that waits or works has one connection, and never needs a
// second: a pool of any size is enough. Closing it is the caller's.
func NewRowLock(db *sql.DB) *RowLock { return &RowLock{db} }

// Do runs work while nobody else does so under the same key, at READ COMMITTED, and
// commits. An error of work, or a panic, rolls back.
//
// The row is made beforehand, in a transaction of its own: FOR UPDATE on a row that
// is missing locks nothing that would keep another out, or, at a higher isolation
// level, a gap that both get and in which neither may insert then: a deadlock.
//
// Errors: lock.ErrNotAcquired if ctx ended or the server lost patience during the
// wait; ErrRolledBack if a statement of work was refused so that the whole must be,
// also if work did not mind; lock.ErrOutcomeUnknown if the commit failed.
func (r *RowLock) Do(ctx context.Context, key string, work func(ctx context.Context, tx *Tx, fence uint64) error) error {
	if key == "" {
		return errors.New("mysqllock: empty key")
	}
	if err := r.makeRow(ctx, key); err != nil {
		return fmt.Errorf("mysqllock: make the row of %q: %w", key, err)
	}
	begun, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return fmt.Errorf("mysqllock: begin: %w", err)
	}
	defer func() { _ = begun.Rollback() }() // after a commit it does nothing
	tx := &Tx{tx: begun}
	fence, err := lockRow(ctx, tx, key)
	if err != nil {
		return err
	}
	err = work(ctx, tx, fence)
	if poisoned := tx.poisoned(); poisoned != nil {
		return errors.Join(poisoned, err)
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mysqllock: not committed: %w", err)
	}
	if err := begun.Commit(); err != nil {
		return fmt.Errorf("%w: commit: %w", lock.ErrOutcomeUnknown, err)
	}
	return nil
}

// makeRow asks first, without a lock: the insert would wait for the present holder.
func (r *RowLock) makeRow(ctx context.Context, key string) error {
	var there int
	err := r.db.QueryRowContext(ctx, rowThereSQL, key).Scan(&there)
	for try := 0; errors.Is(err, sql.ErrNoRows) || poisons(err) && try < tries; try++ {
		_, err = r.db.ExecContext(ctx, makeRowSQL, key)
	}
	return err //nolint:wrapcheck // Do wraps it
}

// lockRow waits for the row and counts.
func lockRow(ctx context.Context, tx *Tx, key string) (fence uint64, err error) {
	err = tx.QueryRow(ctx, lockRowSQL, key).Scan(&fence)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return 0, fmt.Errorf("%w: %q: %w", lock.ErrNotAcquired, key, ctx.Err())
	case poisons(err):
		return 0, fmt.Errorf("%w: %q: %w", lock.ErrNotAcquired, key, err)
	default:
		return 0, fmt.Errorf("mysqllock: lock the row of %q: %w", key, err)
	}
	if _, err := tx.Exec(ctx, countSQL, fence, key); err != nil {
		return 0, fmt.Errorf("mysqllock: count the fence of %q: %w", key, err)
	}
	return fence, nil
}
