package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/locktest"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

func TestLeaseRow_Server_KeepsContract(t *testing.T) {
	t.Parallel()
	locktest.Run(t, leaseRowHarness(t, testservers.DSN(t)))
}

func TestLeaseRow_ServerClockMoves_KeepsContract(t *testing.T) {
	t.Parallel()
	clock := testservers.NewClock(t)
	server := testservers.NewMariaDB(t, servers.ByClock(clock))
	database, err := server.CreateDatabase(t.Context())
	require.NoError(t, err)
	h := leaseRowHarness(t, server.DSN(database))
	locktest.RunClock(t, h, func(t testing.TB, by time.Duration) { testservers.Move(t, clock, by) })
}

func leaseRowHarness(t testing.TB, dsn string) locktest.Harness {
	migrate(t, dsn)
	observer := pool(t, dsn, 4)
	to, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	ctx := context.Background()
	row := func(t testing.TB, key string) (token string, left time.Duration) {
		var us int64
		err := observer.QueryRowContext(ctx, `SELECT token, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at)
			FROM lock_leases WHERE name = ? AND expires_at > UTC_TIMESTAMP(6)`, key).Scan(&token, &us)
		if !errors.Is(err, sql.ErrNoRows) {
			require.NoError(t, err)
		}
		return token, time.Duration(us) * time.Microsecond
	}
	exec := func(t testing.TB, statement string, args ...any) {
		_, err := observer.ExecContext(ctx, statement, args...)
		require.NoError(t, err)
	}
	return locktest.Harness{
		Server: to.Addr,
		Dial: func(t testing.TB, addr string) lock.Backend {
			return NewLeaseRow(pool(t, at(t, dsn, addr), 8))
		},
		Value:     func(t testing.TB, key string) string { token, _ := row(t, key); return token },
		Remaining: func(t testing.TB, key string) time.Duration { _, left := row(t, key); return left },
		Overwrite: func(t testing.TB, key string) {
			exec(t, "UPDATE lock_leases SET token = 'stranger', fence = fence + 1, expires_at = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE name = ?", key)
		},
		Delete: func(t testing.TB, key string) { exec(t, "DELETE FROM lock_leases WHERE name = ?", key) },
		Flush:  func(t testing.TB) { exec(t, "DELETE FROM lock_leases") },
		Kept:   func(t testing.TB) int { return rowsOf(t, observer, "lock_leases") },
		Purge:  func(t testing.TB) { purge(t, dsn) },
		// No Wakes: a database sends no messages.
		Capabilities: locktest.Capabilities{Fence: true, FenceOutlivesData: true, AdvancesFence: true, TellsTaken: true},
	}
}

func rowsOf(t testing.TB, db *sql.DB, table string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}

// purge deletes the rows of all keys that nobody holds.
func purge(t testing.TB, dsn string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{MySQL: dsn, TxTimeout: 5 * time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.PurgeLocks(t.Context(), time.Now(), func(time.Duration) error { return nil })
	require.NoError(t, err)
}

// migrated is the DSN of a database with the program's tables.
func migrated(t testing.TB) string {
	t.Helper()
	dsn := testservers.DSN(t)
	migrate(t, dsn)
	return dsn
}

func migrate(t testing.TB, dsn string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{MySQL: dsn, MaxOpen: 2, TxTimeout: 5 * time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.Migrate(t.Context())
	require.NoError(t, err)
}

func pool(t testing.TB, dsn string, conns int) *sql.DB {
	t.Helper()
	db, err := Open(dsn, conns)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// at is the same database through another address.
func at(t testing.TB, dsn, addr string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	c.Addr = addr
	return c.FormatDSN()
}

func TestLeaseRow_Expired_IsTakenOverWithLargerFence(t *testing.T) {
	b := NewLeaseRow(pool(t, migrated(t), 4))
	first, err := b.Acquire(t.Context(), "user:1", "first", time.Minute)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), "user:1", "second", time.Minute)
	var held *lock.HeldError
	require.ErrorAs(t, err, &held)
	require.LessOrEqual(t, held.Remaining, time.Minute)
	require.Positive(t, held.Remaining)
	require.NoError(t, b.Renew(t.Context(), "user:1", "first", 50*time.Millisecond))
	var second lock.Grant
	require.Eventually(t, func() bool {
		second, err = b.Acquire(t.Context(), "user:1", "second", time.Minute)
		return err == nil
	}, 5*time.Second, time.Millisecond)
	require.Greater(t, second.Fence, first.Fence)
	for _, err := range []error{b.Renew(t.Context(), "user:1", "first", time.Minute), b.Release(t.Context(), "user:1", "first")} {
		require.ErrorIs(t, err, lock.ErrNotHeld)
		require.ErrorAs(t, err, &held)
		require.Greater(t, held.Remaining, 30*time.Second, "the second's, as it was")
	}
}

func TestAdvanceFence_KeyHeld_KeepsHoldersFence(t *testing.T) {
	b := NewLeaseRow(pool(t, migrated(t), 4))
	first, err := b.Acquire(t.Context(), "user:1", "first", time.Minute)
	require.NoError(t, err)
	require.NoError(t, b.AdvanceFence(t.Context(), "user:1", 1<<60))
	again, err := b.Acquire(t.Context(), "user:1", "first", time.Minute)
	require.NoError(t, err)
	require.Equal(t, first, again, "a repeat is the same grant")
	require.NoError(t, b.Release(t.Context(), "user:1", "first"))
	next, err := b.Acquire(t.Context(), "user:1", "next", time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, 1<<60+1, next.Fence)
	require.NoError(t, b.AdvanceFence(t.Context(), "user:2", 1<<60), "a key that nobody has had")
	_, err = b.Acquire(t.Context(), "user:2", "token", time.Minute)
	require.NoError(t, err, "is free all the same")
}

func TestLeaseRow_Clock_IsTheServersInUTC(t *testing.T) {
	dsn := migrated(t)
	here := NewLeaseRow(pool(t, dsn, 1))
	there := NewLeaseRow(pool(t, dsn+"&time_zone=%27%2B11%3A00%27", 1)) // a session eleven hours ahead
	_, err := here.Acquire(t.Context(), "user:1", "first", time.Minute)
	require.NoError(t, err)
	_, err = there.Acquire(t.Context(), "user:1", "second", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld)
	require.NoError(t, here.Release(t.Context(), "user:1", "first"))
	_, err = there.Acquire(t.Context(), "user:1", "second", time.Minute)
	require.NoError(t, err)
	_, err = here.Acquire(t.Context(), "user:1", "first", time.Minute)
	var held *lock.HeldError
	require.ErrorAs(t, err, &held)
	require.InDelta(t, time.Minute, held.Remaining, float64(10*time.Second))
}

func TestLeaseRow_AcquireReplyLost_IsRepeated(t *testing.T) {
	dsn := migrated(t)
	p := testservers.Proxy(t, testservers.MariaDB(t).Addr())
	b := NewLeaseRow(pool(t, at(t, dsn, p.Addr()), 4))
	first, err := b.Acquire(t.Context(), "user:1", "token", time.Minute) // a warm pool
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), "user:1", "token"))
	defer p.LoseReplies(1)()
	second, err := b.Acquire(t.Context(), "user:1", "token", time.Minute)
	require.NoError(t, err)
	third, err := b.Acquire(t.Context(), "user:1", "token", time.Minute)
	require.NoError(t, err)
	require.Greater(t, second.Fence, first.Fence)
	require.Equal(t, second.Fence, third.Fence, "one lock with one fence")
	require.True(t, second.Again, "the first try was the one that took it")
}

func TestLeaseRow_Keys_AreComparedByteByByte(t *testing.T) {
	b := NewLeaseRow(pool(t, migrated(t), 4))
	for _, key := range []string{"user:a", "user:A", "user:a ", "user:ä"} {
		_, err := b.Acquire(t.Context(), key, "of "+key, time.Minute)
		require.NoError(t, err, "%q", key)
	}
	_, err := b.Acquire(t.Context(), string(make([]byte, 256)), "token", time.Minute)
	require.Error(t, err, "a key that does not fit")
	require.NotErrorIs(t, err, lock.ErrHeld)
}

func TestOpen_InvalidDSN_HidesPassword(t *testing.T) {
	_, err := Open("root:hush@tcp(127.0.0.1:1", 0)
	require.ErrorContains(t, err, "DSN")
	require.NotContains(t, err.Error(), "hush")
}

func BenchmarkLeaseRow(b *testing.B) {
	r := NewLeaseRow(pool(b, migrated(b), 4))
	for b.Loop() {
		if _, err := r.Acquire(b.Context(), "user:1", "token", time.Minute); err != nil {
			b.Fatal(err)
		}
		if err := r.Release(b.Context(), "user:1", "token"); err != nil {
			b.Fatal(err)
		}
	}
}
