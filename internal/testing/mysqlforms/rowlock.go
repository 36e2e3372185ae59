package mysqlforms

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"example.com/seckill/internal/lock"
)

// ErrRolledBack says that the transaction was given up by the server, or must be:
// a deadlock, or a wait for a row that was too long. Nothing of it was committed.
var ErrRolledBack = errors.New("mysqlforms: the transaction was rolled back")

const (
	rowThereSQL = "SELECT 1 FROM lock_fences WHERE name = ?"
	makeRowSQL  = "INSERT INTO lock_fences (name, fence) VALUES (?, 0) ON DUPLICATE KEY UPDATE name = VALUES(name)"
	lockRowSQL  = "SELECT fence FROM lock_fences WHERE name = ? FOR UPDATE"
	countSQL    = `INSERT INTO lock_fences (name, fence) VALUES (?, LAST_INSERT_ID(GREATEST(? + 1, ` + clock + `)))
		ON DUPLICATE KEY UPDATE fence = LAST_INSERT_ID(GREATEST(fence + 1, ? + 1, ` + clock + `))`
	// clock is the server's, in microseconds.
	clock     = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
	countName = "\x00fence:" // and the key: the row of the counter, which is locked for one statement only
)

// tries is how often a statement is sent that a deadlock ended.
const tries = 3

// RowLock runs work in a transaction that has a row of lock_fences locked. It is no
// lock.Backend: there is no lease. The lock lasts exactly as long as the transaction,
// and a holder that loses the one has lost the other, so the fence is for writes that go
// elsewhere.
//
//	begin ─▶ SELECT … FOR UPDATE ─▶ count, committed ─▶ work ─▶ commit, which also frees
//	         waits here for the others, holding a connection
//
// The fence is counted in a row and a transaction of its own, before the work begins: it
// goes on growing also when the work is rolled back.
type RowLock struct{ db, fences *sql.DB }

// NewRowLock returns a RowLock on two pools, which mysqllock.Open makes. The table is made by the
// migrations. Each caller that waits or works has one connection of db; the holder takes
// one of fences for a single statement. Pools of any size are enough, but fences
// must not be db: all of that may be waiting for a lock whose holder wants to count.
// Closing them is the caller's.
func NewRowLock(db, fences *sql.DB) *RowLock { return &RowLock{db, fences} }

// Do runs work while no other caller does so under the same key, at READ COMMITTED, and
// commits. An error of work, or a panic, rolls back.
//
// The row is made beforehand, in a transaction of its own: FOR UPDATE on a row that
// is missing locks nothing that would keep another out, or, at a higher isolation
// level, a gap that both get and in which neither may insert then: a deadlock.
//
// Errors: lock.ErrNotAcquired if ctx ended before the row was locked or the server lost
// patience during the wait; ErrRolledBack if a statement of work was refused so that the whole must be,
// also if work did not mind; lock.ErrOutcomeUnknown if the commit failed.
func (r *RowLock) Do(ctx context.Context, key string, work func(ctx context.Context, tx *Tx, fence uint64) error) error {
	if err := lock.CheckKey(key); err != nil {
		return fmt.Errorf("mysqlforms: %w", err)
	}
	if err := r.makeRow(ctx, key); err != nil {
		return notAcquired(ctx, key, fmt.Errorf("mysqlforms: make the row of %q: %w", key, err))
	}
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return notAcquired(ctx, key, fmt.Errorf("mysqlforms: connect: %w", err))
	}
	defer func() { _ = conn.Close() }() // it goes back, or is gone
	begun, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return notAcquired(ctx, key, fmt.Errorf("mysqlforms: begin: %w", err))
	}
	defer func() {
		if err := begun.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			discard(conn)
		}
	}()
	tx := &Tx{tx: begun}
	fence, err := r.lockRow(ctx, tx, key)
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
		return fmt.Errorf("mysqlforms: not committed: %w", err)
	}
	if err := begun.Commit(); err != nil {
		discard(conn)
		return fmt.Errorf("%w: commit: %w", lock.ErrOutcomeUnknown, err)
	}
	return nil
}

// discard keeps a connection from the pool that may still be in a transaction.
func discard(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }

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
func (r *RowLock) lockRow(ctx context.Context, tx *Tx, key string) (uint64, error) {
	var last uint64 // that was counted in the row itself, by others
	err := tx.QueryRow(ctx, lockRowSQL, key).Scan(&last)
	switch {
	case err == nil:
	case ctx.Err() == nil && poisons(err):
		return 0, fmt.Errorf("%w: %q: %w", lock.ErrNotAcquired, key, err)
	default:
		return 0, notAcquired(ctx, key, fmt.Errorf("mysqlforms: lock the row of %q: %w", key, err))
	}
	fence, err := r.count(ctx, key, last)
	for try := 1; poisons(err) && try < tries; try++ {
		fence, err = r.count(ctx, key, last)
	}
	if err != nil {
		return 0, fmt.Errorf("mysqlforms: count the fence of %q: %w", key, err)
	}
	return fence, nil
}

// notAcquired is err, or, if ctx has ended, what a wait that was too long is.
func notAcquired(ctx context.Context, key string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %q: %w", lock.ErrNotAcquired, key, ctx.Err())
}

// count commits the next fence, larger than every earlier one and than last.
func (r *RowLock) count(ctx context.Context, key string, last uint64) (uint64, error) {
	done, err := r.fences.ExecContext(ctx, countSQL, countName+key, last, last)
	if err != nil {
		return 0, err //nolint:wrapcheck // lockRow wraps it
	}
	fence, err := done.LastInsertId()
	return uint64(fence), err //nolint:gosec // it counts up from the clock
}
