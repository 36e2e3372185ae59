package embedded_test

import (
	"context"
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/embedded"
)

func open(t *testing.T, s *embedded.Stores) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", s.SQLiteDSN())
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestEmbedded_Database_HasItsSettings(t *testing.T) {
	s, _ := start(t)
	db := open(t, s)
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "busy_timeout": "5000", "synchronous": "1", "foreign_keys": "1",
	} {
		var got string
		require.NoError(t, db.QueryRow("pragma "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
	require.FileExists(t, s.SQLitePath())
}

// Two transactions that read and then write: without the lock at begin the
// second cannot become a writer and fails at once, whatever its patience.
func TestEmbedded_ReadThenWriteTransaction_WaitsItsTurn(t *testing.T) {
	s, _ := start(t)
	db := open(t, s)
	_, err := db.Exec(`create table coupons (id integer primary key, stock integer); insert into coupons values (1, 0)`)
	require.NoError(t, err)

	gate, done := make(chan struct{}), make(chan error)
	for range 4 {
		go func() {
			<-gate
			var err error
			for range 25 {
				err = errOr(err, readAndAdd(t.Context(), db))
			}
			done <- err
		}()
	}
	close(gate)
	for range 4 {
		require.NoError(t, <-done)
	}
	var stock int
	require.NoError(t, db.QueryRow(`select stock from coupons`).Scan(&stock))
	require.Equal(t, 100, stock)
}

func readAndAdd(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var stock int
	if err := tx.QueryRowContext(ctx, `select stock from coupons where id = 1`).Scan(&stock); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `update coupons set stock = ? where id = 1`, stock+1); err != nil {
		return err
	}
	return tx.Commit()
}

func TestEmbedded_Close_LeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := embedded.Start(context.Background())
	require.NoError(t, err)
	db, err := sql.Open("sqlite", s.SQLiteDSN())
	require.NoError(t, err)
	_, err = db.Exec(`create table t (id integer)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())

	folder := filepath.Dir(s.SQLitePath())
	info, err := os.Stat(folder)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "private to the user")

	require.NoError(t, s.Close())
	require.NoDirExists(t, folder)
	_, err = net.DialTimeout("tcp", s.RedisAddr(), time.Second)
	require.Error(t, err, "the port still answers")
	require.NoError(t, s.Close(), "a second time")
}

func TestEmbedded_StartContextEnds_StoresLiveOn(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	s, err := embedded.Start(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	cancel()
	c, err := net.Dial("tcp", s.RedisAddr())
	require.NoError(t, err)
	require.NoError(t, c.Close())

	_, err = embedded.Start(ctx)
	require.ErrorIs(t, err, context.Canceled, "a start that nobody waits for")
}

func TestEmbedded_TwoAtOnce_AreSeparate(t *testing.T) {
	a, inA := start(t)
	b, inB := start(t)
	require.NotEqual(t, a.RedisAddr(), b.RedisAddr())
	require.NotEqual(t, a.SQLitePath(), b.SQLitePath())
	require.NoError(t, inA.Set(t.Context(), "k", "a", 0).Err())
	require.Equal(t, int64(0), inB.Exists(t.Context(), "k").Val())
}

func TestEmbedded_FolderFails_ErrorSaysWhatToDo(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err := embedded.Start(context.Background())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "TMPDIR")
}

func TestEmbedded_Notice_NamesWhatCannotBeShown(t *testing.T) {
	s, _ := start(t)
	for _, words := range []string{"no row locks", "one writer", "data gone at exit", s.RedisAddr(), "redis.addrs", "mysql.dsn"} {
		require.Contains(t, s.Notice(), words)
	}
	require.NotContains(t, s.Notice(), "\n")
}
