package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Replicas is one database on several MariaDB servers, one of which takes the writes until it is
// lost: those of StartSemiSync or of StartGalera.
type Replicas struct {
	nodes   []*MariaDB // the primary first
	promote func(ctx context.Context, m *MariaDB) error
}

// Primary returns the server that takes the writes.
func (r *Replicas) Primary() *MariaDB { return r.nodes[0] }

// Others returns the servers that do not.
func (r *Replicas) Others() []*MariaDB { return append([]*MariaDB(nil), r.nodes[1:]...) }

// LosePrimary ends the primary at once, as kill -9 does, and removes its data: the machine is gone,
// with its disk.
func (r *Replicas) LosePrimary() error {
	p := r.Primary()
	if err := p.Kill(); err != nil {
		return err
	}
	if err := os.RemoveAll(p.data); err != nil {
		return fmt.Errorf("remove the data of MariaDB: %w", err)
	}
	return nil
}

// Promote has another server take the place of the primary, and returns it once it has all that the
// primary has acknowledged. It must be called before any client writes to it.
func (r *Replicas) Promote(ctx context.Context) (*MariaDB, error) {
	if len(r.nodes) < 2 {
		return nil, errors.New("no server is left that could be promoted")
	}
	next := r.nodes[1]
	if err := r.promote(ctx, next); err != nil {
		return nil, fmt.Errorf("promote the MariaDB on %s: %w", next.Addr(), err)
	}
	r.nodes = r.nodes[1:]
	return next, nil
}

// Stop ends all servers. They are replaceable, so it does not wait for their files.
func (r *Replicas) Stop() error { return killAll(r.nodes) }

// folderOf is where the n-th server has its files.
func folderOf(dir string, n int) string { return filepath.Join(dir, "maria"+strconv.Itoa(n+1)) }

// sameData installs n servers with equal data. They are to replicate from there on.
func sameData(ctx context.Context, dir string, n int) error {
	first := folderOf(dir, 0)
	if err := os.MkdirAll(tmpOf(first), 0o700); err != nil {
		return fmt.Errorf("make the folder of MariaDB: %w", err)
	}
	if err := installMariaDB(ctx, first, dataOf(first)); err != nil {
		return err
	}
	for k := 1; k < n; k++ {
		if err := os.MkdirAll(tmpOf(folderOf(dir, k)), 0o700); err != nil {
			return fmt.Errorf("make the folder of MariaDB: %w", err)
		}
		if err := copyFiles(dataOf(first), dataOf(folderOf(dir, k)), whole); err != nil {
			return err
		}
	}
	return nil
}

// row returns the first row of a reply, by the names of the columns; nil if there is none.
func (m *MariaDB) row(ctx context.Context, query string) (map[string]string, error) {
	var found map[string]string
	err := m.with(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, query)
		if err != nil {
			return err //nolint:wrapcheck // below
		}
		defer func() { _ = rows.Close() }() // Err tells
		names, err := rows.Columns()
		if err != nil || !rows.Next() {
			return errors.Join(err, rows.Err())
		}
		values := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err //nolint:wrapcheck // below
		}
		found = map[string]string{}
		for i, name := range names {
			found[name] = values[i].String
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", query, m.Addr(), err)
	}
	return found, nil
}

// status returns a status variable.
func (m *MariaDB) status(ctx context.Context, name string) (string, error) {
	row, err := m.row(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'")
	return row["Value"], err
}

// all executes statements, each on a connection of its own.
func (m *MariaDB) all(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if err := m.exec(ctx, s); err != nil {
			return fmt.Errorf("%s on %s: %w", s, m.Addr(), err)
		}
	}
	return nil
}
