package mysqlforms

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/locktest"
	"example.com/seckill/internal/testing/testservers"
)

func TestNamedLock_Server_KeepsContract(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	fencer := fences(t, dsn)
	admin, rows := adminOf(t, dsn), pool(t, dsn, 1)
	locktest.Run(t, locktest.Harness{
		Server: testservers.MariaDB(t).Addr(),
		Dial: func(t testing.TB, addr string) lock.Backend {
			return named(t, at(t, dsn, addr), NamedOptions{Fencer: fencer, Conns: 24})
		},
		Value:     admin.owner,
		Overwrite: admin.overwrite,
		Delete:    admin.kill,
		Kept: func(t testing.TB) (n int) {
			require.NoError(t, rows.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM lock_fences").Scan(&n))
			return n
		},
		Purge: func(t testing.TB) {
			_, err := fencer.PurgeLocks(context.Background(), time.Now(), func(time.Duration) error { return nil })
			require.NoError(t, err)
		},
		// No Flush and no Remaining: nothing is stored, and nothing ends by itself.
		Capabilities: locktest.Capabilities{Fence: true, AdvancesFence: true, Session: true, Coarse: time.Second, AtOnce: 16},
	})
}

func named(t testing.TB, dsn string, o NamedOptions) *Named {
	t.Helper()
	n, err := NewNamed(dsn, o)
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

// admin is a session that looks at names, takes them and kills who has them.
type admin struct {
	names *Named // for the names alone
	mu    *sync.Mutex
	conn  *sql.Conn // for one query after the other
	id    string
}

func adminOf(t testing.TB, dsn string) admin {
	t.Helper()
	a := admin{names: named(t, dsn, NamedOptions{}), mu: &sync.Mutex{}}
	var err error
	a.conn, err = pool(t, dsn, 1).Conn(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.conn.Close()) })
	a.id = a.ask(t, "SELECT CONNECTION_ID()")
	return a
}

func (a admin) ask(t testing.TB, query string, args ...any) string {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	var answer sql.NullString
	require.NoError(t, a.conn.QueryRowContext(context.Background(), query, args...).Scan(&answer))
	return answer.String
}

// owner is the id of the connection that has key, or "".
func (a admin) owner(t testing.TB, key string) string {
	t.Helper()
	return a.ask(t, "SELECT IS_USED_LOCK(?)", a.names.nameOf(key))
}

// kill takes the key from whoever has it, and waits until it is gone.
func (a admin) kill(t testing.TB, key string) {
	t.Helper()
	switch id := a.owner(t, key); id {
	case "":
	case a.id:
		require.Equal(t, "1", a.ask(t, "SELECT RELEASE_LOCK(?)", a.names.nameOf(key)))
	default:
		a.mu.Lock()
		_, _ = a.conn.ExecContext(context.Background(), "KILL "+id) // it may be gone already
		a.mu.Unlock()
		require.Eventually(t, func() bool { return a.owner(t, key) != id }, 5*time.Second, time.Millisecond)
	}
}

func (a admin) overwrite(t testing.TB, key string) {
	t.Helper()
	a.kill(t, key)
	require.Equal(t, "1", a.ask(t, "SELECT GET_LOCK(?, 0)", a.names.nameOf(key)))
}

func TestNamedLock_Names_FitAndStayDistinct(t *testing.T) {
	one, two := &Named{database: "one"}, &Named{database: "two"}
	names := map[string]bool{}
	for _, key := range []string{"user:1", "USER:1", "user:1 ", "", strings.Repeat("long", 100), strings.Repeat("long", 100) + "er"} {
		for _, n := range []*Named{one, two} {
			require.Len(t, n.nameOf(key), 64)
			names[strings.ToLower(n.nameOf(key))] = true // the server does not mind the case
		}
	}
	require.Len(t, names, 12)
}

func TestNamedLock_ProcessStalls_ServerEndsLease(t *testing.T) {
	dsn := migrated(t)
	n, a := named(t, dsn, NamedOptions{}), adminOf(t, dsn)
	_, err := n.Acquire(t.Context(), "user:1", "token", 900*time.Millisecond)
	require.NoError(t, err)
	p := n.find(holder{"user:1", "token"})
	require.True(t, p.end.Stop(), "the process does nothing more")
	began := time.Now()
	require.Eventually(t, func() bool { return a.owner(t, "user:1") == "" }, 3*time.Second, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), 800*time.Millisecond, "looking at it is no renewal")
}

func TestNamedLock_ConnectionLost_ReportsLossBeforeRenewal(t *testing.T) {
	dsn := migrated(t)
	n, a := named(t, dsn, NamedOptions{Watch: 10 * time.Millisecond}), adminOf(t, dsn)
	l, err := lock.New(n, lock.Options{Lease: time.Minute})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(context.Background())) }()
	lost, err := l.Acquire(t.Context(), "user:1")
	require.NoError(t, err)
	kept, err := l.Acquire(t.Context(), "user:2")
	require.NoError(t, err)
	began := time.Now()
	a.kill(t, "user:1")
	<-lost.Context().Done()
	require.Less(t, time.Since(began), 5*time.Second, "a renewal is due after 20")
	require.ErrorIs(t, context.Cause(lost.Context()), lock.ErrLost)
	require.NoError(t, kept.Context().Err())
	require.NoError(t, kept.Release(t.Context()))
}

func TestNamedLock_SilenceWithinLease_IsSurvived(t *testing.T) {
	dsn := migrated(t)
	p := testservers.Proxy(t, testservers.MariaDB(t).Addr())
	n, a := named(t, at(t, dsn, p.Addr()), NamedOptions{}), adminOf(t, dsn)
	_, err := n.Acquire(t.Context(), "user:1", "token", 20*time.Second)
	require.NoError(t, err)
	end := p.Inject(faultnet.DelayRequests(600 * time.Millisecond))
	brief := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	err = n.Renew(brief(), "user:1", "token", 20*time.Second)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, lock.ErrNotHeld)
	require.NoError(t, n.Renew(t.Context(), "user:1", "token", 20*time.Second))
	end()

	p.Inject(faultnet.BlackHole)
	require.Error(t, n.Renew(brief(), "user:1", "token", 20*time.Second))
	began := time.Now()
	require.Error(t, n.Release(brief(), "user:1", "token"))
	require.Less(t, time.Since(began), time.Second)
	require.Eventually(t, func() bool { return a.owner(t, "user:1") == "" }, 5*time.Second, time.Millisecond)
}

func TestNamedLock_AllConnectionsPinned_WaitsNotForEver(t *testing.T) {
	n := named(t, migrated(t), NamedOptions{Conns: 2})
	for i := range 2 {
		_, err := n.Acquire(t.Context(), "user:"+strconv.Itoa(i), "token", time.Minute)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := n.Acquire(ctx, "user:9", "token", time.Minute)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, lock.ErrHeld)
}

func TestNewNamed_DSNThatIsNone_ReturnsErrorWithoutPassword(t *testing.T) {
	_, err := NewNamed("root:hush@tcp(127.0.0.1:1", NamedOptions{})
	require.ErrorContains(t, err, "DSN")
	require.NotContains(t, err.Error(), "hush")
}
