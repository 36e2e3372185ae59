package etcdlock

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

const soon = 5 * time.Second

func locker(t *testing.T, b lock.Backend, lease time.Duration) *lock.Locker {
	t.Helper()
	// Polling is of no help here: what comes in time was a message.
	l, err := lock.New(b, lock.Options{Lease: lease, Wait: time.Minute, Poll: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close(context.Background())) })
	return l
}

// counting counts the acquires that were answered.
type counting struct {
	*Backend
	acquires atomic.Int32
}

func (c *counting) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	defer c.acquires.Add(1)
	return c.Backend.Acquire(ctx, key, token, lease)
}

// waiting acquires in the background and returns once it stands in line, was
// refused there, and sleeps.
func waiting(t *testing.T, c *clientv3.Client, b *Backend, lease time.Duration, key string, before int64) <-chan error {
	t.Helper()
	got, calls := make(chan error, 1), &counting{Backend: b}
	l := locker(t, calls, lease)
	go func() {
		h, err := l.Acquire(t.Context(), key)
		if err == nil {
			err = h.Release(t.Context())
		}
		got <- err
	}()
	require.Eventually(t, func() bool {
		n, err := c.Get(t.Context(), "seckill/lock/line/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && n.Count == before+1 && calls.acquires.Load() >= 2
	}, soon, time.Millisecond)
	return got
}

func arrives(t *testing.T, got <-chan error) {
	t.Helper()
	select {
	case err := <-got:
		require.NoError(t, err)
	case <-time.After(soon):
		t.Fatal("nobody woke the waiter")
	}
}

func TestLease_Released_LeavesNoEtcdLease(t *testing.T) {
	addr := testservers.NewEtcd(t).Addr()
	c, b := observe(t, addr), dial(t, addr)
	l := locker(t, b, 10*time.Second)
	for range 3 {
		h, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		_, err = b.Acquire(t.Context(), "a", "other", 10*time.Second)
		require.ErrorIs(t, err, lock.ErrHeld)
		got := waiting(t, c, dial(t, addr), 10*time.Second, "a", 0)
		require.NoError(t, h.Release(t.Context()))
		arrives(t, got)
	}
	require.Eventually(t, func() bool {
		left, err := c.Leases(t.Context())
		return err == nil && len(left.Leases) == 0
	}, soon, 5*time.Millisecond)
}

func TestLease_EndedAtServer_FreesKey(t *testing.T) {
	addr := testservers.Etcd(t).Addr()
	c, b, key := observe(t, addr), dial(t, addr), t.Name()
	_, err := b.Acquire(t.Context(), key, "one", 10*time.Second)
	require.NoError(t, err)
	_, err = c.Revoke(t.Context(), leaseID(key, "one"))
	require.NoError(t, err)
	require.ErrorIs(t, b.Renew(t.Context(), key, "one", 10*time.Second), lock.ErrNotHeld)
	_, err = b.Acquire(t.Context(), key, "two", 10*time.Second)
	require.NoError(t, err)
	err = b.Release(t.Context(), key, "one")
	require.ErrorIs(t, err, lock.ErrNotHeld)
	require.ErrorIs(t, err, lock.ErrHeld)
	require.NoError(t, b.Release(t.Context(), key, "two"), "it has a lease of its own")
}

func TestLease_KeyDeleted_IsLost(t *testing.T) {
	addr := testservers.Etcd(t).Addr()
	c, b, key := observe(t, addr), dial(t, addr), t.Name()
	_, err := b.Acquire(t.Context(), key, "one", 10*time.Second)
	require.NoError(t, err)
	_, err = c.Delete(t.Context(), b.held(key))
	require.NoError(t, err)
	require.ErrorIs(t, b.Renew(t.Context(), key, "one", 10*time.Second), lock.ErrNotHeld)
}

func TestAcquire_WriteArrivesAfterRelease_IsRefused(t *testing.T) {
	addr := testservers.Etcd(t).Addr()
	c, b, key := observe(t, addr), dial(t, addr), t.Name()
	require.NoError(t, b.grantLease(t.Context(), leaseID(key, "one"), 10))
	require.ErrorIs(t, b.Release(t.Context(), key, "one"), lock.ErrNotHeld)
	_, err := c.Put(t.Context(), b.held(key), "one", clientv3.WithLease(leaseID(key, "one")))
	require.ErrorContains(t, err, "lease not found")
}

func TestLease_FractionsOfSeconds_AreRoundedUp(t *testing.T) {
	addr := testservers.Etcd(t).Addr()
	c, b := observe(t, addr), dial(t, addr)
	for asked, want := range map[time.Duration]int64{
		time.Millisecond:        2, // the least that etcd grants
		2 * time.Second:         2,
		2*time.Second + 1:       3,
		2900 * time.Millisecond: 3,
		time.Minute:             60,
	} {
		key := fmt.Sprint(t.Name(), asked)
		_, err := b.Acquire(t.Context(), key, "one", asked)
		require.NoError(t, err)
		got, err := c.TimeToLive(t.Context(), leaseID(key, "one"))
		require.NoError(t, err)
		require.Equal(t, want, got.GrantedTTL, "for %v", asked)
		require.NoError(t, b.Release(t.Context(), key, "one"))
	}
	_, err := b.Acquire(t.Context(), t.Name(), "one", 5*time.Second)
	require.NoError(t, err)
	require.Error(t, b.Renew(t.Context(), t.Name(), "one", time.Minute), "an etcd lease cannot be lengthened")
}

func TestSubscribe_RevisionsCompacted_WakesWaiter(t *testing.T) {
	addr := testservers.NewEtcd(t).Addr()
	c, proxy := observe(t, addr), testservers.Proxy(t, addr)
	h, err := locker(t, dial(t, addr), 20*time.Second).Acquire(t.Context(), "a")
	require.NoError(t, err)
	got := waiting(t, c, dial(t, proxy.Addr()), 20*time.Second, "a", 0)
	proxy.Cut()
	require.NoError(t, h.Release(t.Context()))
	put, err := c.Put(t.Context(), "something", "else")
	require.NoError(t, err)
	_, err = c.Compact(t.Context(), put.Header.Revision, clientv3.WithCompactPhysical())
	require.NoError(t, err)
	require.NoError(t, proxy.Join())
	arrives(t, got)
}

func TestQueue_WaiterDies_NextTakesItsPlace(t *testing.T) {
	addr := testservers.NewEtcd(t).Addr()
	c, b := observe(t, addr), dial(t, addr)
	h, err := locker(t, b, 20*time.Second).Acquire(t.Context(), "a")
	require.NoError(t, err)
	dead, err := c.Grant(t.Context(), 60)
	require.NoError(t, err)
	_, err = c.Put(t.Context(), b.queueDir("a")+"dead", "", clientv3.WithLease(dead.ID))
	require.NoError(t, err)
	got := waiting(t, c, dial(t, addr), 20*time.Second, "a", 1)
	_, err = c.Revoke(t.Context(), dead.ID)
	require.NoError(t, err)
	require.NoError(t, h.Release(t.Context()))
	arrives(t, got)
}

func TestQueue_KeysWithSlashes_HaveTheirOwn(t *testing.T) {
	addr := testservers.NewEtcd(t).Addr()
	c := observe(t, addr)
	outer, err := locker(t, dial(t, addr), 20*time.Second).Acquire(t.Context(), "a/b")
	require.NoError(t, err)
	first := waiting(t, c, dial(t, addr), 20*time.Second, "a/b", 0)
	h, err := locker(t, dial(t, addr), 20*time.Second).Acquire(t.Context(), "a")
	require.NoError(t, err)
	second := waiting(t, c, dial(t, addr), 20*time.Second, "a", 1)
	require.NoError(t, h.Release(t.Context()))
	arrives(t, second)
	require.NoError(t, outer.Release(t.Context()))
	arrives(t, first)
}

func TestLease_ServerKilledAndRestarted_Survives(t *testing.T) {
	server := testservers.NewEtcd(t)
	b := dial(t, server.Addr())
	l := locker(t, b, 15*time.Second)
	h, err := l.Acquire(t.Context(), "a")
	require.NoError(t, err)
	waiter := waiting(t, observe(t, server.Addr()), dial(t, server.Addr()), 15*time.Second, "a", 0)
	require.NoError(t, server.Kill())
	_, err = l.Acquire(t.Context(), "b", lock.WithWait(0))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.NoError(t, server.Restart(t.Context()))
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return b.Renew(ctx, "a", tokenOf(t, server.Addr(), "a"), 15*time.Second) == nil
	}, soon, 10*time.Millisecond)
	require.NoError(t, h.Context().Err())
	require.NoError(t, h.Release(t.Context()))
	arrives(t, waiter)
	next, err := l.Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.Greater(t, next.Fence(), h.Fence())
	require.NoError(t, next.Release(t.Context()))
}

func tokenOf(t *testing.T, addr, key string) string {
	t.Helper()
	return harness(t, addr).Value(t, key)
}

func TestClose_Subscriptions_EndAndLeaveNothing(t *testing.T) {
	b, err := Connect([]string{testservers.Etcd(t).Addr()}, Options{})
	require.NoError(t, err)
	_, _, err = b.Subscribe(t.Context(), t.Name(), "token")
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close(), "it may be repeated")
	_, _, err = b.Subscribe(t.Context(), t.Name(), "token")
	require.ErrorIs(t, err, errClosed)
	_, err = b.Acquire(t.Context(), t.Name(), "one", time.Minute)
	require.Error(t, err)
}

func TestConnection_CallGivenUp_IsReplaced(t *testing.T) {
	proxy := testservers.Proxy(t, testservers.Etcd(t).Addr())
	b := dial(t, proxy.Addr())
	_, err := b.Acquire(t.Context(), t.Name(), "one", 20*time.Second)
	require.NoError(t, err)
	end := proxy.SwallowRepliesAfter(0)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, b.Renew(ctx, t.Name(), "one", 20*time.Second))
	end() // for connections to come
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.Eventually(t, func() bool { return b.Renew(ctx, t.Name(), "one", 20*time.Second) == nil || ctx.Err() != nil }, soon, time.Millisecond)
	require.NoError(t, ctx.Err())
	require.NoError(t, b.Release(t.Context(), t.Name(), "one"))
}
