package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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

// A commit that a server stalls, as for a backup, would be waited for until the DSN's
// readTimeout: database/sql gives the end of a transaction no context. Here it ends
// with the deadline of the context that the transaction was begun with:
//
//	BEGIN ─▶ statements ─▶ COMMIT ──────▶ answered
//	│                         └ stalled ─▶│ the connection is closed, the outcome unknown
//	└───────── the deadline ──────────────┘
//
// A connection whose commit is on its way, or has failed, never returns to the pool, and nothing waits
// on after the deadline. The server may still commit, or may not. A context
// that is cancelled ends no commit: the client may be gone, and the order is made.
type deadlineConnector struct{ driver.Connector }

// driverConn is what database/sql and gorm use of a connection of the driver.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// Connect connects.
//
//nolint:wrapcheck // database/sql and classify are to see what the driver says
func (b deadlineConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := b.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	all, ok := conn.(driverConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("store: the driver's %T lacks a method", conn)
	}
	return &deadlineConn{driverConn: all}, nil
}

// deadlineConn begins a transaction with its first statement, in the same round trip. begin is the text that it has
// not sent.
type deadlineConn struct {
	driverConn

	begin string
}

// BeginTx begins a transaction that ends by the deadline of ctx. It asks the server nothing:
// that a connection is dead is found by the first statement.
func (c *deadlineConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	begin := "START TRANSACTION"
	if o.ReadOnly {
		begin += " READ ONLY"
	}
	if level := sql.IsolationLevel(o.Isolation); level != sql.LevelDefault {
		begin = "SET TRANSACTION ISOLATION LEVEL " + strings.ToUpper(level.String()) + "; " + begin
	}
	c.begin = begin
	until, has := ctx.Deadline()
	return deadlineTx{c, until, has}, nil
}

// ExecContext executes a statement, after the begin if that is yet to be sent.
//
//nolint:wrapcheck // as above
func (c *deadlineConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (done driver.Result, err error) {
	err = c.begun(query, func(query string) error {
		done, err = c.driverConn.ExecContext(ctx, query, args)
		return err
	})
	return done, err
}

// QueryContext runs a query, after the begin if that is yet to be sent. The driver passes over results without rows,
// such as that of the begin.
//
//nolint:wrapcheck // as above
func (c *deadlineConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.begun(query, func(query string) error {
		rows, err = c.driverConn.QueryContext(ctx, query, args)
		return err
	})
	return rows, err
}

// PrepareContext prepares a statement, and begins before: a prepared one cannot share a round trip.
//
//nolint:wrapcheck // as above
func (c *deadlineConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if begin := c.begin; begin != "" {
		c.begin = ""
		if _, err := c.driverConn.ExecContext(ctx, begin, nil); err != nil {
			return nil, err
		}
	}
	return c.driverConn.PrepareContext(ctx, query)
}

// begun sends a statement, together with the begin if that is yet to be sent. The driver skips a
// statement that it cannot send without preparing it: then the begin is still to be sent.
func (c *deadlineConn) begun(query string, send func(query string) error) error {
	begin := c.begin
	if begin == "" {
		return send(query)
	}
	c.begin = ""
	err := send(begin + "; " + query)
	if errors.Is(err, driver.ErrSkip) {
		c.begin = begin
	}
	return err
}

// deadlineTx takes the place of the driver's transaction, which is no more than the two
// statements.
type deadlineTx struct {
	conn        *deadlineConn
	deadline    time.Time
	hasDeadline bool
}

// Commit commits, or gives the connection up.
func (t deadlineTx) Commit() error { return t.end("COMMIT") }

// Rollback rolls back, or gives the connection up, which rolls back too.
func (t deadlineTx) Rollback() error { return t.end("ROLLBACK") }

func (t deadlineTx) end(statement string) error {
	if t.conn.begin != "" { // nothing was sent
		t.conn.begin = ""
		return nil
	}
	ctx := context.Background()
	if t.hasDeadline {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, t.deadline)
		defer cancel()
	}
	err := ctx.Err()
	if err == nil {
		_, err = t.conn.ExecContext(ctx, statement, nil)
	}
	if err != nil {
		// The connection may still be in the transaction, as after KILL QUERY or max_statement_time. Its next user
		// would read and write in it. ErrBadConn keeps it from the pool.
		_ = t.conn.Close()
		return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
	}
	return err
}
