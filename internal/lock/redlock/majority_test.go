package redlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

const minute = time.Minute

func TestRedLock_AnyNodesFree_NeedsMajorityOrLeavesNothing(t *testing.T) {
	_, clients, _ := startNodes(t, 5)
	b := backend(t, clients, Options{NodeTimeout: 2 * time.Second}) // all answer
	for name, stranger := range map[string]func(node int) string{
		"one other has them":     func(int) string { return "stranger" },
		"each has another owner": func(node int) string { return fmt.Sprintf("stranger-%d", node) },
	} {
		t.Run(name, func(t *testing.T) {
			for set := range uint(1 << 5) {
				key := rand.Text()
				want := make([]string, 5)
				for i, c := range clients {
					if set&(1<<i) != 0 {
						want[i] = stranger(i)
						require.NoError(t, c.Set(t.Context(), usualName(key), want[i], minute).Err())
					}
				}
				_, err := b.Acquire(t.Context(), key, "token", minute)
				if bits.OnesCount(set) > 2 {
					require.ErrorIs(t, err, lock.ErrHeld, "set %05b", set)
					require.Equal(t, want, values(t, clients, key), "set %05b", set)
					continue
				}
				require.NoError(t, err, "set %05b", set)
				got := values(t, clients, key)
				for i := range want {
					if want[i] == "" {
						want[i] = "token"
					}
				}
				require.Equal(t, want, got, "set %05b", set)
			}
		})
	}
}

func TestAcquire_MajorityHeld_ReportsTimeUntilFree(t *testing.T) {
	_, clients, _ := startNodes(t, 5)
	b := backend(t, clients, Options{NodeTimeout: 2 * time.Second}) // a node without an answer counts as taken
	for i, c := range clients[:4] {
		require.NoError(t, c.Set(t.Context(), usualName("user:1"), "stranger", time.Duration(i+1)*minute).Err())
	}
	_, err := b.Acquire(t.Context(), "user:1", "token", minute)
	var held *lock.HeldError
	require.ErrorAs(t, err, &held)
	// One is free, the next two are free after one and two minutes.
	require.InDelta(t, 2*minute, held.Remaining, float64(10*time.Second))
}

func TestRedLock_SilentNode_CostsOneNodeTimeout(t *testing.T) {
	const nodeTimeout = 500 * time.Millisecond
	_, clients, addrs := startNodes(t, 5)
	for holes, may := range []bool{true, true, true, false, false, false} {
		t.Run(fmt.Sprintf("%d black holes of 5", holes), func(t *testing.T) {
			b, swallow := beforeSome(t, addrs, holes, nodeTimeout)
			defer swallow()()
			key := rand.Text()
			began := time.Now()
			_, err := b.Acquire(t.Context(), key, "token", minute)
			took := time.Since(began)
			require.Less(t, took, nodeTimeout*2)
			if holes > 0 {
				require.GreaterOrEqual(t, took, nodeTimeout)
			}
			if may {
				require.NoError(t, err)
				require.NoError(t, b.Renew(t.Context(), key, "token", minute))
				require.NoError(t, b.Release(t.Context(), key, "token"))
			} else {
				require.Error(t, err)
				require.NotErrorIs(t, err, lock.ErrHeld)
				for i := range holes {
					require.ErrorContains(t, err, fmt.Sprintf("node %d of 5", i+1), "every node's own error")
				}
			}
			require.Empty(t, strings.Join(values(t, clients, key), ""))
		})
	}
}

// beforeSome makes a backend whose first nodes are behind proxies. swallow makes
// black holes of them.
func beforeSome(t *testing.T, addrs string, some int, nodeTimeout time.Duration) (b *Backend, swallow func() (end func())) {
	t.Helper()
	all := strings.Split(addrs, ",")
	var proxies []*faultnet.Proxy
	for i := range some {
		p := testservers.Proxy(t, all[i])
		proxies, all[i] = append(proxies, p), p.Addr()
	}
	b = backend(t, dialAll(t, strings.Join(all, ",")), Options{NodeTimeout: nodeTimeout})
	_, err := b.Acquire(t.Context(), rand.Text(), "warm", 10*time.Second) // a warm pool
	require.NoError(t, err)
	return b, func() func() {
		var ends []func()
		for _, p := range proxies {
			ends = append(ends, p.Inject(faultnet.BlackHole))
		}
		return func() {
			for _, end := range ends {
				end()
			}
		}
	}
}

func TestRelease_SilentNodes_AreFreedToo(t *testing.T) {
	_, clients, addrs := startNodes(t, 5)
	all := strings.Split(addrs, ",")
	p := testservers.Proxy(t, strings.Join(all[:3], ","))
	b := backend(t, dialAll(t, p.Addr()+","+strings.Join(all[3:], ",")), Options{NodeTimeout: time.Second})
	_, err := b.Acquire(t.Context(), rand.Text(), "warm", minute)
	require.NoError(t, err)
	end := p.SwallowRepliesAfter(0)
	failed := make(chan error, 1)
	go func() { _, err := b.Acquire(t.Context(), "user:1", "token", minute); failed <- err }()
	require.Eventually(t, func() bool { return !slices.Contains(values(t, clients, "user:1"), "") },
		5*time.Second, time.Millisecond, "all five have it, and three cannot say so")
	end()
	require.Error(t, <-failed)
	require.Eventually(t, func() bool { return strings.Join(values(t, clients, "user:1"), "") == "" },
		time.Second, time.Millisecond)
}

func TestRedLock_ElapsedLongerThanLease_IsRefused(t *testing.T) {
	_, clients, addrs := startNodes(t, 5)
	p := testservers.Proxy(t, addrs)
	b := backend(t, dialAll(t, p.Addr()), Options{NodeTimeout: 5 * time.Second})
	_, err := b.Acquire(t.Context(), rand.Text(), "warm", minute)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), "renewed", "token", minute)
	require.NoError(t, err)
	defer p.Inject(faultnet.DelayRequests(200 * time.Millisecond))()
	_, err = b.Acquire(t.Context(), "user:1", "token", 201*time.Millisecond) // the drift is 4 ms
	require.ErrorContains(t, err, "too late")
	require.NotErrorIs(t, err, lock.ErrHeld)
	require.Empty(t, strings.Join(values(t, clients, "user:1"), ""))
	err = b.Renew(t.Context(), "renewed", "token", 201*time.Millisecond)
	require.ErrorContains(t, err, "too late")
	require.NotErrorIs(t, err, lock.ErrNotHeld, "it may be tried again")
}

func TestRedLock_Validity_IsLeaseLessElapsedLessDrift(t *testing.T) {
	const lease = 10 * time.Second
	drift := lease/100 + 2*time.Millisecond
	for name, tc := range map[string]struct {
		elapsed time.Duration
		refused bool
	}{
		"at once":                   {0, false},
		"a moment before the drift": {lease - drift - 1, false},
		"when the drift begins":     {lease - drift, true},
		"after the lease":           {lease + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				time.Sleep(tc.elapsed)
				require.Equal(t, tc.refused, inTime(start, lease) != nil)
			})
		})
	}
}

func TestRedLock_NodeRestartedEmpty_DoesNotJoinByRenewal(t *testing.T) {
	nodes, clients, _ := startNodes(t, 5)
	b := backend(t, clients, Options{NodeTimeout: 10 * time.Second})
	_, err := b.Acquire(t.Context(), "user:1", "token", minute)
	require.NoError(t, err)
	for i, node := range nodes[:3] {
		require.NoError(t, node.Kill())
		require.NoError(t, node.Restart(t.Context()))
		require.Eventually(t, func() bool { return clients[i].Ping(t.Context()).Err() == nil }, 5*time.Second, time.Millisecond)
		err := b.Renew(t.Context(), "user:1", "token", minute)
		if i < 2 {
			require.NoError(t, err, "a majority still has it")
		} else {
			require.ErrorIs(t, err, lock.ErrNotHeld)
		}
		got := values(t, clients, "user:1")
		require.Equal(t, make([]string, i+1), got[:i+1], "an empty node stays empty")
		require.NotContains(t, got[i+1:], "")
	}
}

func TestAcquire_ConcurrentCallers_ExactlyOneWins(t *testing.T) {
	_, _, addrs := startNodes(t, 5)
	var processes []*Backend
	for range 6 {
		processes = append(processes, backend(t, dialAll(t, addrs), Options{NodeTimeout: 5 * time.Second}))
	}
	for range 50 {
		key := rand.Text()
		var won atomic.Int32
		gate := make(chan struct{})
		var all sync.WaitGroup
		for i, b := range processes {
			all.Go(func() {
				<-gate
				_, err := b.Acquire(context.Background(), key, fmt.Sprintf("token %d", i), minute)
				if err == nil {
					won.Add(1)
				} else {
					assert.ErrorIs(t, err, lock.ErrHeld)
				}
			})
		}
		close(gate)
		all.Wait()
		require.EqualValues(t, 1, won.Load())
	}
}

func TestNew_InvalidNodesOrLease_IsRefused(t *testing.T) {
	_, err := New([]*redis.Client{}, Options{})
	require.Error(t, err)
	_, clients, _ := startNodes(t, 1)
	_, err = New(clients, Options{NodeTimeout: -1})
	require.Error(t, err)
	b := backend(t, clients, Options{})
	for _, lease := range []time.Duration{4 * time.Millisecond, 100 * time.Second} {
		_, err := b.Acquire(t.Context(), "user:1", "token", lease)
		require.ErrorContains(t, err, "not between")
	}
	require.Empty(t, strings.Join(values(t, clients, "user:1"), ""))
	require.ErrorIs(t, b.AdvanceFence(t.Context(), "user:1", 1), errors.ErrUnsupported)
}
