package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/seckill/internal/testing/gobuild"
)

// nextSchema is the migration of the next version of the program. It is the heaviest change of the largest table: the
// server writes every row and every index again. endOfNext undoes it.
const nextSchema = `-- +goose Up
ALTER TABLE orders FORCE, ADD KEY orders_of_next (coupon_id, status);

-- +goose Down
ALTER TABLE orders DROP KEY orders_of_next;
`

// next builds the next version of the program: this version with one more migration.
func (s *sale) next(ctx context.Context) (_ string, err error) {
	if s.nextProgram != "" {
		return "", nil
	}
	version, err := lastVersion(filepath.Join(s.Root, "sql", "mysql"))
	if err != nil {
		return "", err
	}
	version++
	for _, dialect := range []string{"mysql", "sqlite"} { // the two have the same versions
		if err := os.WriteFile(s.schemaFile(dialect), []byte(nextSchema), 0o600); err != nil {
			return "", fmt.Errorf("write a migration: %w", err)
		}
	}
	name := fmt.Sprintf("%05d_next.sql", version)
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
	s.nextProgram, s.nextVersion = program, version
	return "", nil
}

// lastVersion returns the version of the last migration in a folder.
func lastVersion(folder string) (version int, err error) {
	known, err := os.ReadDir(folder)
	if err != nil {
		return 0, fmt.Errorf("look for migrations: %w", err)
	}
	if len(known) == 0 {
		return 0, fmt.Errorf("look for migrations: %s is empty", folder)
	}
	name := known[len(known)-1].Name()
	number, _, _ := strings.Cut(name, "_")
	if version, err = strconv.Atoi(number); err != nil {
		return 0, fmt.Errorf("look for migrations: %s does not start with a version: %w", name, err)
	}
	return version, nil
}

func (s *sale) schemaFile(dialect string) string { return filepath.Join(s.dir, dialect+".sql") }

// migrate migrates the database for the next version of the program while this version sells on it. It kills the first
// run while that run alters the table, and the second run resumes.
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

// killMigration starts to migrate and kills the run as soon as the server alters the table.
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

// migrated returns an error if the database does not have the schema of the next version. The error quotes the output
// of the second run.
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

// endOfNext removes the next version from the database, because the commands of this version would reject its schema.
func (s *sale) endOfNext(ctx context.Context) error {
	if err := s.exec(ctx, "DELETE FROM goose_db_version WHERE version_id = "+strconv.Itoa(s.nextVersion)); err != nil {
		return fmt.Errorf("take the next version away: %w", err)
	}
	if err := s.exec(ctx, "ALTER TABLE orders DROP KEY IF EXISTS orders_of_next"); err != nil {
		return fmt.Errorf("take the next version away: %w", err)
	}
	return nil
}
