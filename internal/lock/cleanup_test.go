package lock_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// tardy carries acquires out after so long, also abandoned ones, and answers none of them.
type tardy struct {
	*memory
	after time.Duration
	away  bool // until then nothing else is answered, either
	begun time.Time
}

func (b *tardy) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	time.AfterFunc(b.after, func() { _, _ = b.memory.Acquire(context.Background(), key, token, lease) })
	<-ctx.Done()
	return lock.Grant{}, ctx.Err()
}

func (b *tardy) Release(ctx context.Context, key, token string) error {
	if b.away && time.Since(b.begun) < b.after {
		<-ctx.Done()
		return ctx.Err()
	}
	return b.memory.Release(ctx, key, token)
}

// inTardyBubble cancels n acquires after 100 ms.
func inTardyBubble(t *testing.T, b *tardy, o lock.Options, n int, f func(t *testing.T, l *lock.Locker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b.memory, b.begun = newMemory(), time.Now()
		o.Lease, o.Logger = 30*second, slog.New(slog.DiscardHandler)
		l, err := lock.New(b, o)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { _, _ = l.Acquire(ctx, strconv.Itoa(i)) })
		}
		all.Wait()
		f(t, l)
		require.NoError(t, l.Close(context.Background()))
	})
}

func (m *memory) held() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.keys {
		if _, ok := m.live(key); ok {
			n++
		}
	}
	return n
}

func TestCleaner_ManyAbandonedAcquires_FreesKeysWithinSecond(t *testing.T) {
	b := &tardy{after: 400 * time.Millisecond}
	inTardyBubble(t, b, lock.Options{}, 5000, func(t *testing.T, _ *lock.Locker) {
		time.Sleep(301 * time.Millisecond)
		require.Equal(t, 5000, b.held())
		time.Sleep(second)
		require.Zero(t, b.held())
	})
}

func TestCleaner_LateAcquisition_IsFreedInAboutASecond(t *testing.T) {
	for name, away := range map[string]bool{"while others are answered": false, "with the server": true} {
		t.Run(name, func(t *testing.T) {
			b := &tardy{after: 8500 * time.Millisecond, away: away}
			inTardyBubble(t, b, lock.Options{}, 1, func(t *testing.T, _ *lock.Locker) {
				time.Sleep(8401 * time.Millisecond)
				require.True(t, b.holds("0"))
				time.Sleep(1100 * time.Millisecond)
				require.False(t, b.holds("0"))
			})
		})
	}
}

// slowToFree takes a while for each release, and counts how many are under way at once.
type slowToFree struct {
	tardy

	now, most atomic.Int64
}

func (b *slowToFree) Release(ctx context.Context, key, token string) error {
	now := b.now.Add(1)
	defer b.now.Add(-1)
	for most := b.most.Load(); now > most && !b.most.CompareAndSwap(most, now); most = b.most.Load() {
	}
	time.Sleep(20 * time.Millisecond)
	return b.memory.Release(ctx, key, token)
}

// The callers that come while a server recovers must find it, and its connections, free: with 256
// tries at once a sale whose Redis servers had paused for four seconds did not go on minutes later.
func TestCleaner_ManyKeys_FewCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &slowToFree{tardy: tardy{memory: newMemory(), after: time.Millisecond, begun: time.Now()}}
		l, err := lock.New(b, lock.Options{Lease: 30 * second, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() { _, _ = l.Acquire(ctx, strconv.Itoa(i)) })
		}
		all.Wait()
		time.Sleep(10 * second)
		require.Zero(t, b.held(), "all are freed nevertheless")
		require.LessOrEqual(t, b.most.Load(), int64(16))
		require.NoError(t, l.Close(context.Background()))
	})
}

func TestCleaner_ServerSilent_TriesFewTimesUntilLeaseEnds(t *testing.T) {
	b := &tardy{after: time.Hour}
	inTardyBubble(t, b, lock.Options{}, 5000, func(t *testing.T, _ *lock.Locker) {
		time.Sleep(31 * second)
		n := b.count(&b.releases)
		require.Less(t, n, 5000*6+31*1000)
		require.Greater(t, n, 5000*9)
		time.Sleep(30 * second)
		require.Equal(t, n, b.count(&b.releases))
	})
}

func TestCleaner_KeyCannotBeFreed_IsCounted(t *testing.T) {
	var notFreed atomic.Int32
	o := lock.Options{Hooks: lock.Hooks{NotFreed: func() { notFreed.Add(1) }}}
	b := &tardy{after: time.Hour, away: true}
	inTardyBubble(t, b, o, 1, func(t *testing.T, _ *lock.Locker) {
		time.Sleep(29 * second)
		require.Zero(t, notFreed.Load())
		time.Sleep(2 * second)
		synctest.Wait()
		require.EqualValues(t, 1, notFreed.Load())
	})
}

func TestClose_AbandonedKeys_WaitsASecondAtMost(t *testing.T) {
	b := &tardy{after: time.Hour}
	inTardyBubble(t, b, lock.Options{}, 10, func(t *testing.T, l *lock.Locker) {
		began := time.Now()
		require.NoError(t, l.Close(t.Context()))
		require.LessOrEqual(t, time.Since(began), second)
		n := b.count(&b.releases)
		time.Sleep(time.Minute)
		require.Equal(t, n, b.count(&b.releases))
	})
}
