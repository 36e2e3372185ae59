package idworker

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// process is one instance's connection and locker.
type process struct {
	client redis.UniversalClient
	locker *lock.Locker
}

func newProcess(t testing.TB, addr string) process {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	l, err := lock.New(redislock.New(client, redislock.Options{}), lock.Options{Lease: 5 * time.Second, Timeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, l.Close(ctx))
		require.NoError(t, client.Close())
	})
	return process{client, l}
}

func (p process) snowflake(t testing.TB, o Options) *Snowflake {
	t.Helper()
	w, err := NewSnowflake(context.Background(), p.client, p.locker, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w
}

func TestNumbers_TwoInstances_AreDistinct(t *testing.T) {
	addr := testservers.NewRedis(t).Addr()
	const instances = 40
	var mu sync.Mutex
	numbers := map[int64]bool{}
	var all sync.WaitGroup
	for range instances {
		p := newProcess(t, addr)
		all.Go(func() {
			w := p.snowflake(t, Options{})
			mu.Lock()
			defer mu.Unlock()
			numbers[w.Number()] = true
		})
	}
	all.Wait()
	require.Len(t, numbers, instances)
}

func TestNumbers_AllTaken_ReturnsError(t *testing.T) {
	p := newProcess(t, testservers.NewRedis(t).Addr())
	holder := newProcess(t, p.client.(*redis.Client).Options().Addr)
	var leases []*lock.Lease
	for n := range Numbers {
		lease, err := holder.locker.Acquire(t.Context(), fmt.Sprintf("worker:%d", n), lock.WithLease(time.Minute))
		require.NoError(t, err)
		leases = append(leases, lease)
	}
	_, err := NewSnowflake(t.Context(), p.client, p.locker, Options{})
	require.ErrorIs(t, err, ErrAllTaken)
	require.ErrorContains(t, err, "1024 of 1024")

	require.NoError(t, leases[77].Release(t.Context()))
	require.EqualValues(t, 77, p.snowflake(t, Options{}).Number(), "the only one left")
	for n, lease := range leases {
		if n != 77 {
			require.NoError(t, lease.Release(t.Context()))
		}
	}
}

func TestNext_GoroutinesAndInstances_AreUnique(t *testing.T) {
	addr := testservers.NewRedis(t).Addr()
	workers := []*Snowflake{newProcess(t, addr).snowflake(t, Options{}), newProcess(t, addr).snowflake(t, Options{})}
	next := []func(context.Context) (int64, error){workers[0].Next, workers[1].Next}
	requireUnique(t, next, 8, 20_000)
}

// requireUnique makes each ids in as many goroutines per instance.
func requireUnique(t *testing.T, next []func(context.Context) (int64, error), goroutines, each int) {
	t.Helper()
	made := make([][]int64, len(next)*goroutines)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			last := int64(0)
			for range each {
				id, err := next[i%len(next)](t.Context())
				if err != nil || id <= last {
					t.Errorf("%d after %d, of one goroutine: %v", id, last, err)
					return
				}
				last = id
				made[i] = append(made[i], id)
			}
		})
	}
	all.Wait()
	seen := map[int64]bool{}
	for _, ids := range made {
		for _, id := range ids {
			require.False(t, seen[id], "id %d was made twice", id)
			seen[id] = true
		}
	}
	require.Len(t, seen, len(made)*each)
}

func TestNext_NumberLost_RefusesThenRecovers(t *testing.T) {
	for name, take := range map[string]func(context.Context, redis.UniversalClient, string) error{
		"stolen by another": func(ctx context.Context, c redis.UniversalClient, key string) error {
			return c.Set(ctx, key, "stranger 1", time.Hour).Err()
		},
		"expired": func(ctx context.Context, c redis.UniversalClient, key string) error { return c.Del(ctx, key).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t, testservers.NewRedis(t).Addr())
			w := p.snowflake(t, Options{Lease: 600 * time.Millisecond})
			before := w.Number()
			s := w.worker.Load()
			keys, err := p.client.Keys(t.Context(), fmt.Sprintf("seckill:{lock:*}:worker:%d", before)).Result()
			require.NoError(t, err)
			require.Len(t, keys, 1)
			require.NoError(t, take(t.Context(), p.client, keys[0]))

			<-s.lease.Context().Done()
			_, err = s.next(w.o)
			require.ErrorIs(t, err, ErrLeaseLost, "the old number makes no more ids")
			require.Eventually(t, func() bool { _, err := w.Next(t.Context()); return err == nil }, 5*time.Second, time.Millisecond)
			require.NotSame(t, s, w.worker.Load())
			if name == "stolen by another" {
				require.NotEqual(t, before, w.Number())
			}
		})
	}
}

func TestNext_InstancePaused_StaysBelowMark(t *testing.T) {
	p := newProcess(t, testservers.NewRedis(t).Addr())
	w := p.snowflake(t, Options{})
	s := w.worker.Load()
	_, err := w.Next(t.Context())
	require.NoError(t, err)
	s.until.Store(s.last.Load() - 1) // as if it had slept past it and not yet heard of the loss
	_, err = w.Next(t.Context())
	require.ErrorIs(t, err, ErrLeaseLost)
}

func TestMark_FirstID_IsCovered(t *testing.T) {
	w := newProcess(t, testservers.NewRedis(t).Addr()).snowflake(t, Options{Lease: time.Hour})
	id, err := w.Next(t.Context())
	require.NoError(t, err)
	ms, err := w.marks.read(t.Context(), w.Number())
	require.NoError(t, err)
	require.GreaterOrEqual(t, ms, id>>22+Epoch.UnixMilli())
}

func TestMark_LaterHolder_IsNotOverwritten(t *testing.T) {
	m := highWaterMarks{newProcess(t, testservers.NewRedis(t).Addr()).client, defaultPrefix}
	require.NoError(t, m.write(t.Context(), 7, 1000, 9))
	require.NoError(t, m.write(t.Context(), 7, 900, 10), "the same or a later holder may lower it")
	require.ErrorIs(t, m.write(t.Context(), 7, 2000, 9), ErrLeaseLost)
	ms, err := m.read(t.Context(), 7)
	require.NoError(t, err)
	require.EqualValues(t, 900, ms)
}

func TestMark_HeldThenClosed_MovesThenIsExact(t *testing.T) {
	p := newProcess(t, testservers.NewRedis(t).Addr())
	w := p.snowflake(t, Options{Lease: 600 * time.Millisecond})
	number, first := w.Number(), w.worker.Load().until.Load()
	require.Eventually(t, func() bool {
		ms, err := w.marks.read(t.Context(), number)
		return err == nil && ms > first
	}, 5*time.Second, time.Millisecond)
	id, err := w.Next(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, w.Close(t.Context()), "it may be repeated")
	_, err = w.Next(t.Context())
	require.ErrorIs(t, err, ErrClosed)

	ms, err := w.marks.read(t.Context(), number)
	require.NoError(t, err)
	require.GreaterOrEqual(t, ms, id>>22+Epoch.UnixMilli())
	require.LessOrEqual(t, ms, time.Now().UnixMilli()+1)
	keys, err := p.client.Keys(t.Context(), "seckill:{lock:*}:worker:*").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "the number was given back")
}

func TestNext_ClockBehindLastUse_Waits(t *testing.T) {
	setMarks := func(t *testing.T, p process, ahead time.Duration) int64 {
		ms := time.Now().Add(ahead).UnixMilli()
		for n := range int64(Numbers) {
			require.NoError(t, p.client.HSet(t.Context(), defaultPrefix+marksKey, n, strconv.FormatInt(ms, 10)+" 1").Err())
		}
		return ms
	}
	t.Run("by a little is waited for", func(t *testing.T) {
		p := newProcess(t, testservers.NewRedis(t).Addr())
		ms := setMarks(t, p, 700*time.Millisecond)
		id, err := p.snowflake(t, Options{}).Next(t.Context())
		require.NoError(t, err)
		require.Greater(t, id>>22+Epoch.UnixMilli(), ms)
	})
	t.Run("by much is refused, and the number given back", func(t *testing.T) {
		p := newProcess(t, testservers.NewRedis(t).Addr())
		setMarks(t, p, time.Hour)
		_, err := NewSnowflake(t.Context(), p.client, p.locker, Options{})
		require.ErrorIs(t, err, ErrClockBack)
		keys, err := p.client.Keys(t.Context(), "seckill:{lock:*}:worker:*").Result()
		require.NoError(t, err)
		require.Empty(t, keys)
	})
	t.Run("in mid-run is refused until it has caught up", func(t *testing.T) {
		p := newProcess(t, testservers.NewRedis(t).Addr())
		var back atomic.Int64
		w := p.snowflake(t, Options{Now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }})
		_, err := w.Next(t.Context())
		require.NoError(t, err)
		back.Store(int64(5 * time.Second))
		_, err = w.Next(t.Context())
		require.ErrorIs(t, err, ErrClockBack)
		back.Store(0)
		_, err = w.Next(t.Context())
		require.NoError(t, err)
	})
}

func TestNext_ContextDone_ReturnsNoID(t *testing.T) {
	w := newProcess(t, testservers.NewRedis(t).Addr()).snowflake(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNext_IDOverflows_IsRefused(t *testing.T) {
	for name, parts := range map[string][2]int64{
		"before the epoch":      {-1, 1},
		"after the last second": {1 << 31, 1},
		"no count":              {1, 0},
		"a count too large":     {1, 1 << 32},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dailyID(parts[0], parts[1])
			require.Error(t, err)
		})
	}
	id, err := dailyID(1<<31-1, 1<<32-1)
	require.NoError(t, err)
	require.Positive(t, id)
}

func BenchmarkSnowflake(b *testing.B) {
	w := newProcess(b, testservers.Redis(b).Addr()).snowflake(b, Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
