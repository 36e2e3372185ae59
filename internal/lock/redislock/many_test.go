package redislock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

// users are n keys of different users, who share the buckets.
func users(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = lock.UserKey(int64(70_000 + 7*i))
	}
	return keys
}

func TestAcquireMany_EachMember_HasItsOwnFence(t *testing.T) {
	c := dialed(t, testservers.NewRedis(t).Addr())
	l, err := lock.New(New(c, Options{}), lock.Options{Lease: time.Minute})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(context.Background())) }()
	keys := users(2*perScript + 3)
	leases, errs := l.AcquireMany(t.Context(), keys)
	seen := map[uint64]string{}
	for i, h := range leases {
		require.NoError(t, errs[i])
		value := c.Get(t.Context(), namesOf(keys[i]).lock).Val()
		require.True(t, strings.HasSuffix(value, " "+strconv.FormatUint(h.Fence(), 10)), "%s: %s, %d", keys[i], value, h.Fence())
		counted, err := c.Get(t.Context(), namesOf(keys[i]).fence).Uint64()
		require.NoError(t, err)
		require.GreaterOrEqual(t, counted, h.Fence())
		if i < perScript { // of one script; others may run in the same microsecond
			require.Empty(t, seen[h.Fence()])
			seen[h.Fence()] = keys[i]
		}
	}
	for _, err := range l.ReleaseMany(t.Context(), leases) {
		require.NoError(t, err)
	}
}

// Counted by the servers: commands that the scripts call do not count.
// The counter of a bucket is read once for all members, and written once.
func TestAcquireMany_CounterAheadOfClock_FencesGrow(t *testing.T) {
	c := dialed(t, testservers.NewRedis(t).Addr())
	b, all := New(c, Options{}), users(2*buckets+1)
	keys := []string{all[0], all[buckets], all[2*buckets]} // of one bucket
	ahead := uint64(time.Now().Add(time.Hour).UnixMicro())
	require.NoError(t, b.AdvanceFence(t.Context(), keys[0], ahead))
	for range 2 {
		for _, a := range b.AcquireMany(t.Context(), keys, "token", time.Minute) {
			require.NoError(t, a.Err)
			ahead++
			require.Equal(t, ahead, a.Grant.Fence)
		}
		for _, err := range b.ReleaseMany(t.Context(), keys, "token") {
			require.NoError(t, err)
		}
	}
	require.Equal(t, strconv.FormatUint(ahead, 10), c.Get(t.Context(), namesOf(keys[0]).fence).Val())
}

func TestAcquireMany_EachMaster_GetsOneScript(t *testing.T) {
	const members, rounds = 50, 4
	_, dial := clusterHarness(t)
	for name, tc := range map[string]struct {
		client  redis.UniversalClient
		masters int
	}{
		"of a standalone server": {dialed(t, testservers.NewRedis(t).Addr()), 1},
		"of a Cluster":           {dial(t, ""), 3},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := lock.New(New(tc.client, Options{}), lock.Options{Lease: time.Minute, Timeout: 10 * time.Second})
			require.NoError(t, err)
			defer func() { require.NoError(t, l.Close(context.Background())) }()
			round := func() {
				leases, errs := l.AcquireMany(t.Context(), users(members))
				for _, err := range append(errs, l.ReleaseMany(t.Context(), leases)...) {
					require.NoError(t, err)
				}
			}
			round() // the servers have the scripts then
			before := scriptsRun(t, tc.client)
			for range rounds {
				round()
			}
			require.Equal(t, 2*rounds*tc.masters, scriptsRun(t, tc.client)-before)
		})
	}
}

func TestAcquireMany_ManyKeys_BlockRedisUnder5ms(t *testing.T) {
	c := dialed(t, testservers.NewRedis(t).Addr())
	b, keys := New(c, Options{Fair: true}), users(perScript) // the dearer
	least := time.Hour
	for i := range 20 { // a busy machine may stop the server in the midst of it
		token := strconv.Itoa(i)
		require.NoError(t, c.ConfigResetStat(t.Context()).Err())
		for _, a := range b.AcquireMany(t.Context(), keys, token, time.Minute) {
			require.NoError(t, a.Err)
		}
		least = min(least, scriptTime(t, c))
		for _, err := range b.ReleaseMany(t.Context(), keys, token) {
			require.NoError(t, err)
		}
	}
	t.Logf("%d members: %v", perScript, least)
	require.Less(t, least, 5*time.Millisecond)
}

func TestAcquireMany_SlotElsewhere_MemberGoesIndividually(t *testing.T) {
	_, dial := clusterHarness(t)
	client := dial(t, "")
	b, keys := New(client, Options{}), users(30)
	var part []batched // as if all slots had been on one node a moment ago
	for i, key := range keys {
		part = append(part, batched{index: i, key: key, names: namesOf(key)})
	}
	answers := make([]lock.Result, len(keys))
	left, _, err := b.acquirePlain(t.Context(), part, "token", time.Minute, answers)
	require.NoError(t, err)
	require.NotEmpty(t, left)
	require.Less(t, len(left), len(keys))
	for i, a := range answers {
		require.NoError(t, a.Err)
		value := client.Get(t.Context(), part[i].lock).Val()
		if slices.ContainsFunc(left, func(m batched) bool { return m.index == i }) {
			require.Empty(t, value)
			a.Grant, err = b.Acquire(t.Context(), keys[i], "token", time.Minute)
			require.NoError(t, err)
		} else {
			require.Equal(t, fmt.Sprintf("token %d", a.Grant.Fence), value)
		}
	}
	for _, err := range b.ReleaseMany(t.Context(), keys, "token") {
		require.NoError(t, err)
	}
}

func TestBatch_OneKeyFails_OtherKeysSucceed(t *testing.T) {
	c := dialed(t, testservers.NewRedis(t).Addr())
	b, keys := New(c, Options{}), users(3)
	require.NoError(t, c.LPush(t.Context(), namesOf(keys[1]).lock, "no lock").Err())
	answers := b.AcquireMany(t.Context(), keys, "token", time.Minute)
	require.NoError(t, answers[0].Err)
	require.ErrorContains(t, answers[1].Err, "WRONGTYPE")
	require.NoError(t, answers[2].Err)
	errs := b.ReleaseMany(t.Context(), keys, "token")
	require.NoError(t, errs[0])
	require.ErrorContains(t, errs[1], "WRONGTYPE")
	require.NotErrorIs(t, errs[1], lock.ErrNotHeld)
	require.NoError(t, errs[2])
}

func TestBatch_KeyOfAnotherHolder_IsUntouched(t *testing.T) {
	c := dialed(t, testservers.NewRedis(t).Addr())
	b, keys := New(c, Options{}), users(4)
	_, err := b.Acquire(t.Context(), keys[1], "another", time.Minute)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), keys[2], "token", time.Minute)
	require.NoError(t, err)
	mine, err := b.Acquire(t.Context(), keys[2], "token", time.Minute)
	require.NoError(t, err)
	answers := b.AcquireMany(t.Context(), keys, "token", time.Minute)
	var held *lock.HeldError
	require.ErrorAs(t, answers[1].Err, &held)
	require.InDelta(t, time.Minute, held.Remaining, float64(30*time.Second))
	require.Equal(t, mine, answers[2].Grant, "a repeat is the same grant")
	for i, renewed := range b.RenewMany(t.Context(), keys, "token", 2*time.Hour) {
		if i == 1 {
			require.ErrorIs(t, renewed, lock.ErrNotHeld)
			continue
		}
		require.NoError(t, renewed)
		require.Greater(t, c.PTTL(t.Context(), namesOf(keys[i]).lock).Val(), time.Hour)
	}
	require.Less(t, c.PTTL(t.Context(), namesOf(keys[1]).lock).Val(), time.Hour)
	for range 2 {
		errs := b.ReleaseMany(t.Context(), keys, "token")
		require.ErrorIs(t, errs[1], lock.ErrNotHeld)
		require.NotEmpty(t, c.Get(t.Context(), namesOf(keys[1]).lock).Val())
	}
	require.ErrorIs(t, b.ReleaseMany(t.Context(), keys, "token")[0], lock.ErrNotHeld)
	require.NoError(t, b.Release(t.Context(), keys[1], "another"))
}

func TestAcquireMany_Waiters_AreAnnouncedOnRelease(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "in fair mode": {Fair: true}} {
		t.Run(name, func(t *testing.T) {
			c := dialed(t, testservers.NewRedis(t).Addr())
			b, keys := New(c, o), users(3)
			for _, waits := range []bool{false, true} {
				for _, a := range b.AcquireMany(t.Context(), keys, "token", time.Minute) {
					require.NoError(t, a.Err)
				}
				if waits {
					_, err := b.AcquireInTurn(t.Context(), keys[1], "waiter", time.Minute)
					require.ErrorIs(t, err, lock.ErrHeld)
				}
				before := messages(t, c)
				for _, err := range b.ReleaseMany(t.Context(), keys, "token") {
					require.NoError(t, err)
				}
				require.Equal(t, waits, messages(t, c) != before)
			}
		})
	}
}

func TestAcquireMany_OtherWaitersTurn_ReturnsErrHeld(t *testing.T) {
	c := dialed(t, testservers.NewRedis(t).Addr())
	b, keys := New(c, Options{Fair: true}), users(3)
	_, err := b.Acquire(t.Context(), keys[1], "holder", time.Minute)
	require.NoError(t, err)
	_, err = b.AcquireInTurn(t.Context(), keys[1], "first", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld)
	require.NoError(t, b.Release(t.Context(), keys[1], "holder"))
	answers := b.AcquireMany(t.Context(), keys, "token", time.Minute)
	require.NoError(t, answers[0].Err)
	require.ErrorIs(t, answers[1].Err, lock.ErrHeld, "it is free, but not its turn")
	require.NoError(t, answers[2].Err)
	_, err = b.AcquireInTurn(t.Context(), keys[1], "first", time.Minute)
	require.NoError(t, err)
}

// scriptsRun counts the scripts that all masters have run.
func scriptsRun(t testing.TB, client redis.UniversalClient) int {
	t.Helper()
	total := 0
	each(t, client, func(name string, calls int, _ time.Duration) {
		if strings.HasPrefix(name, "eval") {
			total += calls
		}
	})
	return total
}

// scriptTime is how long the scripts took since the statistics were reset.
func scriptTime(t testing.TB, client redis.UniversalClient) (total time.Duration) {
	t.Helper()
	each(t, client, func(name string, _ int, took time.Duration) {
		if strings.HasPrefix(name, "eval") {
			total += took
		}
	})
	return total
}

// each calls f with what every master says of each command.
func each(t testing.TB, client redis.UniversalClient, f func(name string, calls int, took time.Duration)) {
	t.Helper()
	var mu sync.Mutex
	ask := func(ctx context.Context, c *redis.Client) error {
		mu.Lock() // the masters are asked at once
		defer mu.Unlock()
		text, err := c.Info(ctx, "commandstats").Result()
		for line := range strings.Lines(text) {
			var calls, us int
			name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
			if _, err := fmt.Sscanf(rest, "calls=%d,usec=%d,", &calls, &us); err == nil {
				f(name, calls, time.Duration(us)*time.Microsecond)
			}
		}
		return err
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		require.NoError(t, cluster.ForEachMaster(t.Context(), ask))
		return
	}
	require.NoError(t, ask(t.Context(), client.(*redis.Client)))
}
