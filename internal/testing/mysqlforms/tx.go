package mysqlforms

import (
	"context"
	"database/sql"
	"fmt"
)

// Tx is all that work may do in the transaction of a RowLock. It remembers an error
// that poisons the transaction and refuses everything after it: the server has ended
// the transaction by then, and the next statement would commit by itself.
type Tx struct {
	tx   *sql.Tx
	dead error
}

// Exec runs a statement.
func (t *Tx) Exec(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	if err := t.poisoned(); err != nil {
		return nil, err
	}
	done, err := t.tx.ExecContext(ctx, statement, args...)
	return done, t.note(err)
}

// QueryRow reads the first row of a query.
func (t *Tx) QueryRow(ctx context.Context, query string, args ...any) *Row {
	if err := t.poisoned(); err != nil {
		return &Row{err: err}
	}
	return &Row{tx: t, row: t.tx.QueryRowContext(ctx, query, args...)}
}

// Query reads all rows of a query: each is called for every row, with the function
// that scans it.
func (t *Tx) Query(ctx context.Context, each func(scan func(dest ...any) error) error, query string, args ...any) error {
	if err := t.poisoned(); err != nil {
		return err
	}
	rows, err := t.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return t.note(err)
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return t.note(rows.Err())
}

// Row is the answer of QueryRow.
type Row struct {
	tx  *Tx
	row *sql.Row
	err error
}

// Scan reads the columns; sql.ErrNoRows if there is no row.
func (r *Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.tx.note(r.row.Scan(dest...))
}

func (t *Tx) note(err error) error {
	if t.dead == nil && poisons(err) {
		t.dead = err
	}
	return err
}

func (t *Tx) poisoned() error {
	if t.dead == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRolledBack, t.dead)
}
