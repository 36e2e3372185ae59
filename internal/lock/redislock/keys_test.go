package redislock

import (
	"context"
	"crypto/rand"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

func TestKeyNames_EachKey_FollowTheScheme(t *testing.T) {
	for key, want := range map[string]names{
		"user:42":  {"seckill:{lock:42}:user:42", "seckill:{lock:42}:fence", "seckill:{lock:42}:freed"},
		"user:64":  {"seckill:{lock:0}:user:64", "seckill:{lock:0}:fence", "seckill:{lock:0}:freed"},
		"user:127": {"seckill:{lock:63}:user:127", "seckill:{lock:63}:fence", "seckill:{lock:63}:freed"},
		// fnv-1a of the whole key when what follows is not a number
		"user:ada": {"seckill:{lock:4}:user:ada", "seckill:{lock:4}:fence", "seckill:{lock:4}:freed"},
		"user:-1":  {"seckill:{lock:58}:user:-1", "seckill:{lock:58}:fence", "seckill:{lock:58}:freed"},
	} {
		require.Equal(t, want, namesOf(key), key)
	}
}

func TestLockKey_AnyKey_DiffersFromTheCounter(t *testing.T) {
	n := namesOf("fence")
	require.NotEqual(t, n.fence, n.lock)
}

func TestBucket_Counter_IsSharedAndNeverExpires(t *testing.T) {
	client := dialed(t, testservers.NewRedis(t).Addr())
	b := New(client, Options{})
	var last uint64
	for _, key := range []string{"user:1", "user:65", "user:129", "user:1"} {
		g, err := b.Acquire(t.Context(), key, rand.Text(), time.Minute)
		if err == nil {
			require.Greater(t, g.Fence, last)
			last = g.Fence
		} else {
			require.ErrorIs(t, err, lock.ErrHeld)
		}
	}
	keys, err := client.Keys(t.Context(), "*:fence").Result()
	require.NoError(t, err)
	require.Equal(t, []string{"seckill:{lock:1}:fence"}, keys)
	ttl, err := client.PTTL(t.Context(), keys[0]).Result()
	require.NoError(t, err)
	require.EqualValues(t, -1, ttl)
	now, err := client.Time(t.Context()).Result()
	require.NoError(t, err)
	require.InDelta(t, now.UnixMicro(), last, float64(time.Minute.Microseconds()), "the server's microseconds")
}

func TestAcquire_TooFewReplicas_IsNotAGrant(t *testing.T) {
	client := dialed(t, testservers.NewRedis(t).Addr()) // it has no replica
	l, err := lock.New(New(client, Options{Replicas: 1, ReplicaTimeout: 20 * time.Millisecond}), lock.Options{Lease: time.Minute})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(context.Background())) }()
	_, err = l.Acquire(t.Context(), "user:1")
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, "0 of 1 replicas")
	require.Eventually(t, func() bool { return client.Exists(t.Context(), "seckill:{lock:1}:user:1").Val() == 0 },
		time.Second, time.Millisecond)
}

func TestAcquire_EnoughReplicas_Grants(t *testing.T) {
	master, replica := testservers.NewRedis(t), testservers.NewRedis(t)
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	follower := dialed(t, replica.Addr())
	require.NoError(t, follower.Do(t.Context(), "REPLICAOF", host, port).Err())
	client := dialed(t, master.Addr())
	b := New(client, Options{Replicas: 1, ReplicaTimeout: time.Second})
	require.Eventually(t, func() bool {
		_, err := b.Acquire(t.Context(), "user:1", "token", time.Minute)
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	require.Contains(t, follower.Get(t.Context(), "seckill:{lock:1}:user:1").Val(), "token ")
	require.Positive(t, client.PTTL(t.Context(), "seckill:{lock:1}:user:1").Val(), "the touch keeps the lease")
}

func TestScripts_AutomaticPipeline_Run(t *testing.T) {
	client := dialed(t, testservers.NewRedis(t).Addr())
	pipe, err := client.AutoPipeline()
	require.NoError(t, err)
	defer func() { require.NoError(t, pipe.Close()) }()
	b := New(client, Options{Scripter: pipe})
	_, err = b.Acquire(t.Context(), "user:1", "token", time.Minute)
	require.NoError(t, err)
	require.NoError(t, b.Renew(t.Context(), "user:1", "token", time.Minute))
	require.NoError(t, b.Release(t.Context(), "user:1", "token"))
}

func TestSubscribe_Fails_LeavesNothing(t *testing.T) {
	b := New(dialed(t, "127.0.0.1:1"), Options{})
	for range 3 {
		_, _, err := b.Subscribe(t.Context(), "user:1", "token")
		require.Error(t, err)
	}
	require.Empty(t, b.subscriptions.byChannel)
}

func BenchmarkAcquireAndRelease(b *testing.B) {
	client := dialed(b, testservers.Redis(b).Addr())
	l, err := lock.New(New(client, Options{}), lock.Options{Lease: 10 * time.Second})
	require.NoError(b, err)
	defer func() { require.NoError(b, l.Close(context.Background())) }()
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Do(b.Context(), "user:42", func(context.Context, *lock.Lease) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBaseline_TwoRawRoundTrips(b *testing.B) {
	client := dialed(b, testservers.Redis(b).Addr())
	b.ReportAllocs()
	for b.Loop() {
		if err := client.Set(b.Context(), "raw", "x", 10*time.Second).Err(); err != nil {
			b.Fatal(err)
		}
		if err := client.Del(b.Context(), "raw").Err(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBaseline_TwoScripts(b *testing.B) {
	l := New(dialed(b, testservers.Redis(b).Addr()), Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Acquire(b.Context(), "user:43", "token", 10*time.Second); err != nil {
			b.Fatal(err)
		}
		if err := l.Release(b.Context(), "user:43", "token"); err != nil {
			b.Fatal(err)
		}
	}
}

func dialed(t testing.TB, addr string) *redis.Client {
	return closed(t, redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
	}))
}
