package store

import (
	"context"
	"errors"
	"strings"
)

// statement is one of those that go to the server together.
type statement struct {
	text string
	args []any
	row  []any  // a row of the answer is read into these; nil if there is no answer
	each func() // is called after each row
}

var errNoAnswer = errors.New("store: a statement has not answered")

// together runs statements one after the other, in one round trip: on a busy machine
// each trip waits for its turn at both ends, which takes longer than most statements.
// The first that fails is the last that is run.
func (t groupTx) together(ctx context.Context, of ...statement) error {
	if len(of) == 0 {
		return nil
	}
	if t.dialect != sqliteDialect {
		return t.send(ctx, of...)
	}
	for _, s := range of { // it is in this process: there is no trip
		var err error
		if s.row == nil {
			_, err = t.conn.ExecContext(ctx, s.text, s.args...)
		} else {
			err = t.send(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send runs statements in one call of the driver.
func (t groupTx) send(ctx context.Context, of ...statement) error {
	texts, args := make([]string, 0, len(of)), []any(nil)
	for _, s := range of {
		texts, args = append(texts, s.text), append(args, s.args...)
	}
	rows, err := t.conn.QueryContext(ctx, strings.Join(texts, "; "), args...)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what for
	}
	defer rows.Close() //nolint:errcheck // Err tells
	first := true
	for _, s := range of {
		if s.row == nil {
			continue
		}
		if !first && !rows.NextResultSet() {
			return errors.Join(errNoAnswer, rows.Err())
		}
		first = false
		for rows.Next() {
			if err := rows.Scan(s.row...); err != nil {
				return err //nolint:wrapcheck // the same
			}
			s.each()
		}
	}
	return rows.Err()
}
