package mysqlforms

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

func TestNamedLock_ConnectionLostPoolExhausted_ReportsLoss(t *testing.T) {
	dsn := migrated(t)
	n, a := named(t, dsn, NamedOptions{Conns: 2, Watch: 10 * time.Millisecond}), adminOf(t, dsn)
	l, err := lock.New(n, lock.Options{Lease: time.Minute, Timeout: time.Minute, Wait: time.Minute})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(context.Background())) }()
	lost, err := l.Acquire(t.Context(), "user:1")
	require.NoError(t, err)
	kept, err := l.Acquire(t.Context(), "user:2")
	require.NoError(t, err)
	asking, giveUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { defer close(gone); _, _ = l.Acquire(asking, "user:3") }()
	require.Eventually(t, func() bool { return n.pool.Stats().WaitCount > 0 }, 5*time.Second, time.Millisecond)

	_, _ = a.conn.ExecContext(t.Context(), "KILL "+a.owner(t, "user:1"))
	require.ErrorIs(t, endOf(t, lost.Context(), 10*time.Second), lock.ErrLost) // a renewal is due after 20
	require.NoError(t, kept.Context().Err())
	giveUp()
	<-gone
	require.NoError(t, kept.Release(t.Context()))
}

// endOf waits for ctx to end and answers its cause.
func endOf(t testing.TB, ctx context.Context, within time.Duration) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(within):
		t.Fatalf("the context did not end within %v", within)
		return nil
	}
}
