package redislock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

// A release in the midst of a failover may not be answered, or be forgotten by the server
// that takes over. It ends nevertheless, and the key is free when its lease is over.
func TestRelease_DuringFailover_KeyIsFreeWithinLease(t *testing.T) {
	t.Parallel()
	const keys, lease, timeout = 60, 4 * time.Second, 2 * time.Second
	group := testservers.NewSentinel(t)
	client := closed(t, redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: group.MasterName(), SentinelAddrs: group.SentinelAddrs(), MaxRetries: -1, ContextTimeoutEnabled: true,
	}))
	l, err := lock.New(New(client, Options{}), lock.Options{Lease: lease, Poll: 20 * time.Millisecond, Timeout: timeout})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(t.Context())) }()

	held := make([]*lock.Lease, keys)
	for i := range held {
		held[i], err = l.Acquire(t.Context(), fmt.Sprintf("user:%d", i))
		require.NoError(t, err)
	}
	var all sync.WaitGroup
	for _, h := range held {
		all.Go(func() {
			time.Sleep(rand.N(500 * time.Millisecond))
			began := time.Now()
			err := h.Release(t.Context())
			assert.Less(t, time.Since(began), 2*timeout)
			if err != nil {
				assert.True(t, errors.Is(err, lock.ErrUnavailable) || errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrNotHeld), "%v", err)
			}
		})
	}
	_, err = group.KillMaster(t.Context())
	require.NoError(t, err)
	all.Wait()

	for i, h := range held {
		again, err := l.Acquire(t.Context(), fmt.Sprintf("user:%d", i), lock.WithWait(time.Minute))
		for errors.Is(err, lock.ErrUnavailable) && t.Context().Err() == nil { // until there is a master
			time.Sleep(50 * time.Millisecond)
			again, err = l.Acquire(t.Context(), fmt.Sprintf("user:%d", i), lock.WithWait(time.Minute))
		}
		require.NoError(t, err)
		require.Greater(t, again.Fence(), h.Fence())
		// On a busy machine the Sentinels may promote once more, and the grant is not replicated.
		if err := again.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			require.NoError(t, err)
		}
	}
}
