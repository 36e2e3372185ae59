package store

import (
	"context"
	"errors"
	"strings"
)

// statement is one of those that go to the server together.
type statement struct {
	sql   string
	args  []any
	dest  []any  // a row of the answer is read into these; nil if there is no answer
	onRow func() // is called after each row
}

var errMissingResult = errors.New("store: a statement has not answered")

// execBatch runs statements one after the other, in one round trip: on a busy machine
// each trip waits for its turn at both ends, which takes longer than most statements.
// The first that fails is the last that is run.
func (t groupTx) execBatch(ctx context.Context, of ...statement) error {
	if len(of) == 0 {
		return nil
	}
	if t.dialect != sqliteDialect {
		return t.queryBatch(ctx, of...)
	}
	for _, s := range of { // it is in this process: there is no trip
		var err error
		if s.dest == nil {
			_, err = t.conn.ExecContext(ctx, s.sql, s.args...)
		} else {
			err = t.queryBatch(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// queryBatch runs statements in one call of the driver.
func (t groupTx) queryBatch(ctx context.Context, of ...statement) error {
	texts, args := make([]string, 0, len(of)), []any(nil)
	for _, s := range of {
		texts, args = append(texts, s.sql), append(args, s.args...)
	}
	rows, err := t.conn.QueryContext(ctx, strings.Join(texts, "; "), args...)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what for
	}
	defer rows.Close() //nolint:errcheck // Err tells
	first := true
	for _, s := range of {
		if s.dest == nil {
			continue
		}
		if !first && !rows.NextResultSet() {
			return errors.Join(errMissingResult, rows.Err())
		}
		first = false
		for rows.Next() {
			if err := rows.Scan(s.dest...); err != nil {
				return err //nolint:wrapcheck // the same
			}
			s.onRow()
		}
	}
	// A statement behind the last answer can fail as well. The driver returns its error only to a caller
	// that asks for the next result. Without the question a transaction would commit without that statement.
	for rows.NextResultSet() {
	}
	return rows.Err()
}
