package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"example.com/seckill/internal/testing/gobuild"
)

// nextSchema is what the next version of the program does to the schema: as heavy a change of the largest
// table as there can be, which writes every row and every index of it anew. It is undone by endOfNext.
const nextSchema = `-- +goose Up
ALTER TABLE orders FORCE, ADD KEY orders_of_next (coupon_id, status);

-- +goose Down
ALTER TABLE orders DROP KEY orders_of_next;
`

// next builds the next version of the program: this one, which knows a migration more.
func (s *sale) next(ctx context.Context) (_ string, err error) {
	if s.nextProgram != "" {
		return "", nil
	}
	folder := filepath.Join(s.Root, "sql", "mysql")
	known, err := os.ReadDir(folder)
	if err != nil {
		return "", fmt.Errorf("look for migrations: %w", err)
	}
	for _, dialect := range []string{"mysql", "sqlite"} { // the two have the same versions
		if err := os.WriteFile(s.schemaFile(dialect), []byte(nextSchema), 0o600); err != nil {
			return "", fmt.Errorf("write a migration: %w", err)
		}
	}
	name := fmt.Sprintf("%05d_next.sql", len(known)+1)
	root, err := filepath.Abs(s.Root)
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(root, "sql", "mysql", name):  s.schemaFile("mysql"),
		filepath.Join(root, "sql", "sqlite", name): s.schemaFile("sqlite"),
	}})
	if err != nil {
		return "", fmt.Errorf("build the next version: %w", err)
	}
	file := filepath.Join(s.dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", fmt.Errorf("build the next version: %w", err)
	}
	program := filepath.Join(s.dir, "seckill-next")
	if err := gobuild.Build(ctx, s.Root, program, "./cmd/seckill", gobuild.Tags, "-ldflags=-w", "-overlay="+file); err != nil {
		return "", err
	}
	s.nextProgram, s.nextVersion = program, len(known)+1
	return "", nil
}

func (s *sale) schemaFile(dialect string) string { return filepath.Join(s.dir, dialect+".sql") }

// migrate migrates the database for the next version of the program while this one sells on it. The first
// run is killed while it alters the table, and the second goes on.
func (s *sale) migrate(ctx context.Context, r *Row) error {
	r.Items = s.buyers
	err := timed(&r.Took, func() error {
		killed, err := s.killMigration(ctx)
		if err != nil {
			return err
		}
		out, err := s.runProgram(ctx, r, s.nextProgram, "migrate")
		if err == nil {
			r.note("killed with SIGKILL %s after its begin, and run again", killed.Round(10*time.Millisecond))
			err = s.migrated(ctx, out)
		}
		return err
	})
	return errors.Join(err, s.endOfNext(context.WithoutCancel(ctx)))
}

// killMigration begins to migrate and kills that as soon as the table is altered, or is altered already.
func (s *sale) killMigration(ctx context.Context) (after time.Duration, err error) {
	began := time.Now()
	within, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	altered := errors.New("the table is being altered")
	go func() {
		for within.Err() == nil {
			var now bool
			err := s.raw.QueryRowContext(within, `SELECT EXISTS (SELECT 1 FROM information_schema.processlist
				WHERE db = DATABASE() AND info LIKE 'ALTER TABLE orders%')`).Scan(&now)
			if err == nil && now {
				kill(altered)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err = s.runProgram(within, nil, s.nextProgram, "migrate")
	if errors.Is(err, altered) {
		err = nil
	}
	return time.Since(began), err
}

// migrated holds what the second run printed, and what the database has, against what the next version wants.
func (s *sale) migrated(ctx context.Context, said string) error {
	var version int
	var hasKey bool
	err := s.raw.QueryRowContext(ctx, `SELECT (SELECT MAX(version_id) FROM goose_db_version WHERE is_applied),
		EXISTS (SELECT 1 FROM information_schema.statistics
			WHERE table_schema = DATABASE() AND index_name = 'orders_of_next')`).Scan(&version, &hasKey)
	switch {
	case err != nil:
		return fmt.Errorf("read the schema: %w", err)
	case version != s.nextVersion || !hasKey:
		return fmt.Errorf("the schema has version %d and its index: %v; it said %q", version, hasKey, said)
	}
	return nil
}

// endOfNext takes the next version away again: the commands of this one would refuse its schema.
func (s *sale) endOfNext(ctx context.Context) error {
	if err := s.exec(ctx, "DELETE FROM goose_db_version WHERE version_id = "+strconv.Itoa(s.nextVersion)); err != nil {
		return fmt.Errorf("take the next version away: %w", err)
	}
	if err := s.exec(ctx, "ALTER TABLE orders DROP KEY IF EXISTS orders_of_next"); err != nil {
		return fmt.Errorf("take the next version away: %w", err)
	}
	return nil
}
