package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"example.com/seckill/internal/lock"
)

// The statements. Each is a transaction by itself and finds its row by the whole primary key. Each
// reads the newest committed row at any isolation level, so none of them needs BEGIN. "Now" is the
// server's time, and is the same throughout a statement.
const (
	clock  = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
	over   = "expires_at <= UTC_TIMESTAMP(6)"
	fresh  = "UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND"
	nobody = "'', '1970-01-01'" // no token, and over for long

	// The unique key turns the insert into an update when there is a row. MySQL makes the
	// assignments of an update from left to right, and each reads the results of those before it.
	// So the assignments that check whether the old lease is over come first. By the last
	// assignment the token is ours exactly if the key is. The receipt carries the fence then, and 0
	// if another has the key.
	acquireSQL = `INSERT INTO lock_leases (name, counter, fence, token, expires_at)
		VALUES (?, ` + clock + `, LAST_INSERT_ID(` + clock + `), ?, ` + fresh + `)
		ON DUPLICATE KEY UPDATE
			counter    = IF(` + over + `, GREATEST(counter + 1, ` + clock + `), counter),
			fence      = IF(` + over + `, counter, fence),
			token      = IF(` + over + `, ?, token),
			expires_at = IF(LAST_INSERT_ID(IF(token = ?, fence, 0)) > 0, ` + fresh + `, expires_at)`
	renewSQL = `UPDATE lock_leases SET expires_at = ` + fresh + `
		WHERE name = ? AND token = ? AND expires_at > UTC_TIMESTAMP(6)`
	releaseSQL = `UPDATE lock_leases SET token = '', expires_at = '1970-01-01'
		WHERE name = ? AND token = ? AND expires_at > UTC_TIMESTAMP(6)`
	holderSQL = `SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) FROM lock_leases
		WHERE name = ? AND token <> ? AND expires_at > UTC_TIMESTAMP(6)`
	raiseSQL = `INSERT INTO lock_leases (name, counter, fence, token, expires_at) VALUES (?, ?, 0, ` + nobody + `)
		ON DUPLICATE KEY UPDATE counter = GREATEST(counter, VALUES(counter))`
)

// tries is how often to send a statement that ended in a deadlock, or an acquisition whose answer
// was lost.
const tries = 3

// LeaseRow is a lock.Backend and a lock.FenceAdvancer. A lease is a row of lock_leases. LeaseRow needs no
// connection while a key is held, and works behind a pooler that gives every statement another
// connection.
type LeaseRow struct{ db *sql.DB }

var (
	_ lock.Backend       = (*LeaseRow)(nil)
	_ lock.FenceAdvancer = (*LeaseRow)(nil)
)

// NewLeaseRow returns a LeaseRow on a pool, which Open makes. The migrations make the table. The
// caller closes the pool.
func NewLeaseRow(db *sql.DB) *LeaseRow { return &LeaseRow{db} }

// Acquire takes key in one statement. If the answer was lost, it asks again with the same token,
// because the key may be ours already.
func (r *LeaseRow) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	us := micros(lease)
	fence, err := r.acquire(ctx, key, token, us)
	again := false // a deadlock rolled back leaves nothing that could arrive late
	for try := 1; err != nil && try < tries && (poisons(err) || !isServers(err)) && ctx.Err() == nil; try++ {
		again = again || !poisons(err)
		fence, err = r.acquire(ctx, key, token, us)
	}
	if err != nil {
		return lock.Grant{}, fmt.Errorf("mysqllock: acquire: %w", err)
	}
	if fence > 0 {
		return lock.Grant{Fence: uint64(fence), Again: again}, nil
	}
	held := &lock.HeldError{Key: key, Again: again}
	if left, err := r.remaining(ctx, key, token); err == nil {
		held.Remaining = left
	}
	return lock.Grant{}, held
}

func (r *LeaseRow) acquire(ctx context.Context, key, token string, us int64) (fence int64, err error) {
	done, err := r.db.ExecContext(ctx, acquireSQL, key, token, us, token, token, us)
	if err != nil {
		return 0, err //nolint:wrapcheck // Acquire wraps it
	}
	return done.LastInsertId() //nolint:wrapcheck // Acquire wraps it
}

// Renew makes the lease last from now. It cannot revive a lease that ran out.
func (r *LeaseRow) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	return r.owned(ctx, "renew", key, token, renewSQL, micros(lease), key, token)
}

// Release frees key, if token still has it. The row stays, for its counter.
func (r *LeaseRow) Release(ctx context.Context, key, token string) error {
	return r.owned(ctx, "release", key, token, releaseSQL, key, token)
}

// owned runs a statement that changes one row, or none if token does not have the key.
func (r *LeaseRow) owned(ctx context.Context, doing, key, token, statement string, args ...any) error {
	n, err := r.exec(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("mysqllock: %s: %w", doing, err)
	}
	if n > 0 {
		return nil
	}
	if left, err := r.remaining(ctx, key, token); err == nil {
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, &lock.HeldError{Key: key, Remaining: left})
	}
	return lock.ErrNotHeld
}

func (r *LeaseRow) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	for range tries {
		var done sql.Result
		if done, err = r.db.ExecContext(ctx, statement, args...); err == nil {
			return done.RowsAffected() //nolint:wrapcheck // the callers wrap it
		}
		if !poisons(err) {
			break
		}
	}
	return 0, err //nolint:wrapcheck // the callers wrap it
}

// remaining returns how long another's lease lasts, or sql.ErrNoRows if no other holder has one.
func (r *LeaseRow) remaining(ctx context.Context, key, token string) (time.Duration, error) {
	var us int64
	if err := r.db.QueryRowContext(ctx, holderSQL, key, token).Scan(&us); err != nil {
		return 0, err //nolint:wrapcheck // only reports whether there is one
	}
	return time.Duration(us) * time.Microsecond, nil
}

// AdvanceFence lifts the counter of key. The present holder keeps its fence.
func (r *LeaseRow) AdvanceFence(ctx context.Context, key string, above uint64) error {
	if above >= math.MaxInt64 {
		return errors.New("mysqllock: raise: more than can be counted")
	}
	if _, err := r.exec(ctx, raiseSQL, key, above); err != nil {
		return fmt.Errorf("mysqllock: raise: %w", err)
	}
	return nil
}

// micros rounds up: a lease is never shorter than the caller requested.
func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }
