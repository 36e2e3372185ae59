package chaos

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
)

func databaseKill(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	return true, killAndRestart(ctx, r.env.MariaDB.Process, briefly)
}

// stallCommits keeps every transaction from committing for as long as its session lasts.
var stallCommits = []string{"BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"}

// databaseKillInCommit kills the database while commits wait in it: they never happen.
func databaseKillInCommit(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	conn, err := r.another(ctx, stallCommits)
	if err != nil {
		return false, err
	}
	defer hangUp(conn)
	_ = sleep(ctx, txTimeout/4) // no caller has given up yet
	return true, killAndRestart(ctx, r.env.MariaDB.Process, briefly)
}

func databaseStop(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	return true, stopAndGoOn(ctx, r.env.MariaDB.Process)
}

// session is another client of the database, which begins something and is slow to end it.
func session(statements ...string) func(context.Context, *round) (bool, error) {
	return func(ctx context.Context, r *round) (bool, error) {
		r.onTheWay(ctx, 10+r.rng.IntN(70))
		conn, err := r.another(ctx, statements)
		if err != nil {
			return false, err
		}
		defer hangUp(conn)
		_ = sleep(ctx, longer)
		for _, s := range []string{"ROLLBACK", "UNLOCK TABLES"} {
			_, _ = conn.ExecContext(ctx, s)
		}
		return true, nil
	}
}

// another opens a session of another client, in which the statements were executed. A question mark
// stands for the round's coupon.
func (r *round) another(ctx context.Context, statements []string) (*sql.Conn, error) {
	conn, err := r.env.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("another session: %w", err)
	}
	for _, s := range statements {
		var args []any
		if strings.Contains(s, "?") {
			args = append(args, r.coupon)
		}
		if _, err := conn.ExecContext(ctx, s, args...); err != nil {
			hangUp(conn)
			return nil, fmt.Errorf("another session: %s: %w", s, err)
		}
	}
	return conn, nil
}

// hangUp ends a session for good: what it holds ends with the connection.
func hangUp(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }
