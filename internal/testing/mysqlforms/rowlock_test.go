package mysqlforms

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/mysqllock"
	"example.com/seckill/internal/testing/testservers"
)

// notes is a table for work to write to.
func notes(t *testing.T, conns int) *sql.DB {
	t.Helper()
	db := pool(t, migrated(t), conns)
	_, err := db.ExecContext(t.Context(), "CREATE TABLE notes (id INT PRIMARY KEY, n INT NOT NULL) ENGINE = InnoDB")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO notes VALUES (1, 0), (2, 0)")
	require.NoError(t, err)
	return db
}

func sum(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT SUM(n) FROM notes").Scan(&n))
	return n
}

// add is a lost update waiting to happen: it reads, and then writes.
func add(ctx context.Context, tx *Tx, id int) error {
	var n int
	if err := tx.QueryRow(ctx, "SELECT n FROM notes WHERE id = ?", id).Scan(&n); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE notes SET n = ? WHERE id = ?", n+1, id)
	return err
}

// crowd runs f in so many goroutines that start at one signal.
func crowd(n int, f func(i int)) {
	gate := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { <-gate; f(i) })
	}
	close(gate)
	all.Wait()
}

func TestRowLock_ConcurrentWork_RunsOneAtATime(t *testing.T) {
	db := notes(t, 8)
	r := rowLock(t, db)
	last := uint64(0) // guarded by the lock
	crowd(8, func(int) {
		for range 25 {
			assert.NoError(t, r.Do(t.Context(), "user:1", func(ctx context.Context, tx *Tx, fence uint64) error {
				assert.Greater(t, fence, last)
				last = fence
				return add(ctx, tx, 1)
			}))
		}
	})
	require.Equal(t, 200, sum(t, db))
	require.InDelta(t, time.Now().UnixMicro(), last, float64(time.Minute.Microseconds()), "the server's microseconds")
}

func TestRowLock_FourGoroutinesFourConnections_DoNotDeadlock(t *testing.T) {
	t.Run("RowLock, on rows that are not there yet", func(t *testing.T) {
		db := notes(t, 4)
		r := rowLock(t, db)
		for range 20 {
			key := rand.Text()
			crowd(4, func(i int) {
				assert.NoError(t, r.Do(t.Context(), key, func(ctx context.Context, tx *Tx, _ uint64) error { return add(ctx, tx, 1+i%2) }))
			})
		}
		require.Equal(t, 80, sum(t, db))
	})
	t.Run("LeaseRow, with work on the same pool", func(t *testing.T) {
		db := notes(t, 4)
		workInLock(t, mysqllock.NewLeaseRow(db), db)
	})
	t.Run("Named, which has a pool of its own", func(t *testing.T) {
		db := notes(t, 4)
		n, err := NewNamed(migrated(t), NamedOptions{Conns: 4})
		require.NoError(t, err)
		defer n.Close()
		workInLock(t, n, db)
	})
}

// workInLock has four goroutines hold a key each and then use the pool, all at once.
func workInLock(t *testing.T, b lock.Backend, db *sql.DB) {
	t.Helper()
	l, err := lock.New(b, lock.Options{Lease: 10 * time.Second, Wait: time.Minute, Poll: 5 * time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(context.Background())) }()
	for range 10 {
		var inside sync.WaitGroup
		inside.Add(4)
		crowd(4, func(i int) {
			assert.NoError(t, l.Do(t.Context(), string(rune('a'+i)), func(ctx context.Context, _ *lock.Lease) error {
				inside.Done()
				inside.Wait() // every key is held now
				_, err := db.ExecContext(ctx, "UPDATE notes SET n = n + 1 WHERE id = 1")
				return err
			}))
		})
	}
	require.Equal(t, 40, sum(t, db))
}

func TestRowLock_DeadlockInsideWork_CommitsNothing(t *testing.T) {
	for name, minds := range map[string]bool{"and work passes the error on": true, "though work does not mind": false} {
		t.Run(name, func(t *testing.T) {
			db := notes(t, 8)
			r := rowLock(t, db)
			var met sync.WaitGroup
			met.Add(2)
			errs := make([]error, 2)
			crowd(2, func(i int) {
				errs[i] = r.Do(t.Context(), rand.Text(), func(ctx context.Context, tx *Tx, _ uint64) error {
					if err := add(ctx, tx, 1+i); err != nil {
						return err
					}
					met.Done()
					met.Wait() // each has a row that the other wants
					err := add(ctx, tx, 2-i)
					if err != nil && minds {
						return err
					}
					if err != nil {
						_, exec := tx.Exec(ctx, "INSERT INTO notes VALUES (3, 1000)") // it would commit by itself
						for _, err := range []error{exec, add(ctx, tx, 1), tx.Query(ctx, nil, "SELECT 1")} {
							assert.ErrorIs(t, err, ErrRolledBack)
						}
					}
					return nil
				})
			})
			if errs[0] == nil {
				errs[0], errs[1] = errs[1], errs[0]
			}
			require.ErrorIs(t, errs[0], ErrRolledBack, "one is the victim")
			require.ErrorContains(t, errs[0], "1213")
			require.NoError(t, errs[1], "the other is not")
			require.Equal(t, 2, sum(t, db), "the other's two, and nothing of the victim")
		})
	}
}

func TestRowLock_WorkFailsOrPanics_RollsBack(t *testing.T) {
	db := notes(t, 2)
	r := rowLock(t, db)
	broken := errors.New("broken")
	require.ErrorIs(t, r.Do(t.Context(), "user:1", func(ctx context.Context, tx *Tx, _ uint64) error {
		return errors.Join(add(ctx, tx, 1), broken)
	}), broken)
	require.PanicsWithValue(t, "broken", func() {
		_ = r.Do(t.Context(), "user:1", func(ctx context.Context, tx *Tx, _ uint64) error {
			assert.NoError(t, add(ctx, tx, 1))
			panic("broken")
		})
	})
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, r.Do(ctx, "user:1", func(ctx context.Context, tx *Tx, _ uint64) error {
		err := add(ctx, tx, 1)
		cancel()
		return err
	}), context.Canceled)
	require.Zero(t, sum(t, db))
	require.Error(t, r.Do(t.Context(), "", nil))
	require.NoError(t, r.Do(t.Context(), "user:1", func(ctx context.Context, tx *Tx, _ uint64) error { return add(ctx, tx, 1) }), "it is free")
}

func TestRowLock_WaitTimesOut_IsNotAcquired(t *testing.T) {
	db := notes(t, 4)
	r := rowLock(t, db)
	require.NoError(t, r.Do(t.Context(), "user:1", func(context.Context, *Tx, uint64) error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		err := r.Do(ctx, "user:1", func(context.Context, *Tx, uint64) error { t.Error("two are inside"); return nil })
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return nil
	}))
	ended, end := context.WithCancel(t.Context())
	end()
	err := r.Do(ended, "user:1", func(context.Context, *Tx, uint64) error { t.Error("it is too late"); return nil })
	require.ErrorIs(t, err, lock.ErrNotAcquired, "it had not even begun to wait")
	require.ErrorIs(t, err, context.Canceled)
}

func TestRowLock_CommitFails_IsUnknown(t *testing.T) {
	dsn := migrated(t)
	p := testservers.Proxy(t, testservers.MariaDB(t).Addr())
	r := rowLock(t, pool(t, at(t, dsn, p.Addr()), 4))
	err := r.Do(t.Context(), "user:1", func(context.Context, *Tx, uint64) error { p.Cut(); return nil })
	require.ErrorIs(t, err, lock.ErrOutcomeUnknown)
	require.NoError(t, p.Join())
}

func TestRowLock_Rows_AreReadInTheTransaction(t *testing.T) {
	db := notes(t, 2)
	require.NoError(t, rowLock(t, db).Do(t.Context(), "user:1", func(ctx context.Context, tx *Tx, _ uint64) error {
		require.NoError(t, add(ctx, tx, 2))
		got := map[int]int{}
		require.NoError(t, tx.Query(ctx, func(scan func(...any) error) error {
			var id, n int
			err := scan(&id, &n)
			got[id] = n
			return err
		}, "SELECT id, n FROM notes WHERE id <= ?", 2))
		require.Equal(t, map[int]int{1: 0, 2: 1}, got)
		var level string
		require.NoError(t, tx.QueryRow(ctx, `SELECT trx_isolation_level FROM information_schema.innodb_trx
			WHERE trx_mysql_thread_id = CONNECTION_ID()`).Scan(&level))
		require.Equal(t, "READ COMMITTED", level)
		return nil
	}))
}

func BenchmarkNamedLock(b *testing.B) {
	n := named(b, migrated(b), NamedOptions{})
	for b.Loop() {
		if _, err := n.Acquire(b.Context(), "user:1", "token", time.Minute); err != nil {
			b.Fatal(err)
		}
		if err := n.Release(b.Context(), "user:1", "token"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRowLock(b *testing.B) {
	r := rowLock(b, pool(b, migrated(b), 4))
	for b.Loop() {
		if err := r.Do(b.Context(), "user:1", func(context.Context, *Tx, uint64) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
