package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/ratelimit"
	"example.com/seckill/internal/testing/testservers"
)

func keyOf(id int64) string { return "{user:" + strconv.FormatInt(id, 10) + "}" }

// buckets is what spend.lua does, by the clock of the test. TestSharedLimit_Buckets_AreInRedis holds
// that they do the same.
type buckets struct {
	now  func() time.Time
	full map[string]time.Time
	told int // debits
	away error
}

func (b *buckets) Spend(_ context.Context, debits []ratelimit.Debit) (left []float64, err error) {
	if b.away != nil {
		return nil, b.away
	}
	for _, d := range debits {
		full := b.full[d.Key]
		if full.Before(b.now()) {
			full = b.now()
		}
		each := time.Second / time.Duration(d.PerSecond)
		full = full.Add(time.Duration(d.N) * each)
		b.full[d.Key] = full
		left = append(left, float64(d.Burst)-float64(full.Sub(b.now()))/float64(each))
		b.told++
	}
	return left, nil
}

// fleet is so many instances with one limit of 20 a second and 40 at once.
type fleet struct {
	now       time.Time
	ledger    *buckets
	instances []*ratelimit.Limiter[int64]
}

func newFleet(n int) *fleet {
	f := &fleet{now: time.Unix(1_700_000_000, 0)}
	now := func() time.Time { return f.now }
	f.ledger = &buckets{now: now, full: map[string]time.Time{}}
	for range n {
		f.instances = append(f.instances, ratelimit.New(ratelimit.Options[int64]{PerSecond: 20, Burst: 40, Now: now, Key: keyOf}))
	}
	return f
}

// ask lets the client ask every instance for so long, every step, and returns how often it was allowed.
func (f *fleet) ask(t *testing.T, client int64, last, step time.Duration) (allowed int) {
	t.Helper()
	for end, next := f.now.Add(last), f.now; f.now.Before(end); f.now = f.now.Add(step) {
		for _, l := range f.instances {
			if l.Allow(client) {
				allowed++
			}
		}
		for ; !next.After(f.now); next = next.Add(ratelimit.Interval) {
			f.reconcile(t)
		}
	}
	return allowed
}

func (f *fleet) reconcile(t *testing.T) {
	t.Helper()
	for _, l := range f.instances {
		if err := l.Reconcile(t.Context(), f.ledger); err != nil {
			require.ErrorIs(t, err, f.ledger.away)
		}
	}
}

func TestSharedLimit_Client_GetsTheLimitFromAllInstances(t *testing.T) {
	for _, n := range []int{1, 2, 4, 8} {
		for name, step := range map[string]time.Duration{
			"a flood": 5 * time.Millisecond, "twice the limit": time.Duration(n) * 25 * time.Millisecond,
		} {
			t.Run(fmt.Sprintf("%d instances, %s", n, name), func(t *testing.T) {
				const seconds = 60
				allowed := newFleet(n).ask(t, 1, seconds*time.Second, step)
				require.InEpsilon(t, 40+20*seconds, allowed, 0.05)
			})
		}
	}
}

func TestSharedLimit_RareClient_IsNotShared(t *testing.T) {
	f := newFleet(2)
	for range 100 { // 4 requests every 10 s to each of two instances
		require.Equal(t, 8, f.ask(t, 1, 10*time.Second, 2500*time.Millisecond))
	}
	require.Zero(t, f.ledger.told)
}

func TestSharedLimit_ClientWithinLimit_IsNeverRefused(t *testing.T) {
	f := newFleet(4)
	require.Equal(t, 4*60*4, f.ask(t, 1, time.Minute, 250*time.Millisecond), "16 a second")
	require.Positive(t, f.ledger.told)
}

func TestShared_BurstsBeforeFirstPass_ArePaidBack(t *testing.T) {
	f := newFleet(4)
	for _, l := range f.instances {
		for range 40 {
			require.True(t, l.Allow(1), "one burst from each before the first pass")
		}
	}
	require.LessOrEqual(t, f.ask(t, 1, 6*time.Second, 5*time.Millisecond), 8, "120 too many, at 20 a second")
	require.InEpsilon(t, 10*20, f.ask(t, 1, 10*time.Second, 5*time.Millisecond), 0.05)
	for _, l := range f.instances {
		require.True(t, l.Allow(2), "another client is not concerned")
	}
}

func TestSharedLimit_LedgerDown_EachInstanceKeepsTheLimit(t *testing.T) {
	f := newFleet(2)
	f.ledger.away = errors.New("away")
	require.InEpsilon(t, 2*(40+20*10), f.ask(t, 1, 10*time.Second, 5*time.Millisecond), 0.02)
	f.ledger.away = nil
	require.InEpsilon(t, 40+20*20, f.ask(t, 1, 20*time.Second, 5*time.Millisecond), 0.05, "nothing of that time is owed")
}

func TestSharedLimit_Buckets_AreInRedis(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: testservers.Redis(t).Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	ledger := ratelimit.NewRedis(client, "mine:")
	slow := func(n int) ratelimit.Debit { return ratelimit.Debit{Key: "{user:1}", N: n, PerSecond: 1, Burst: 1000} }

	began := time.Now()
	left, err := ledger.Spend(t.Context(), []ratelimit.Debit{slow(100), slow(300), {Key: "{user:2}", N: 1, PerSecond: 1000, Burst: 5}})
	require.NoError(t, err)
	passed := func() float64 { return time.Since(began).Seconds() + 0.01 }
	require.Len(t, left, 3)
	require.InDelta(t, 900, left[0], passed())
	require.InDelta(t, 600, left[1], passed())
	require.InDelta(t, 4, left[2], 1)

	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	left, err = ledger.Spend(t.Context(), []ratelimit.Debit{slow(2000)})
	require.NoError(t, err, "the server has forgotten the script")
	require.InDelta(t, -1400, left[0], passed(), "below zero")
	ttl := client.PTTL(t.Context(), "mine:rate:{user:1}").Val()
	require.InDelta(t, 2400, ttl.Seconds(), passed(), "until it is full again")
	require.Eventually(t, func() bool {
		return client.Exists(t.Context(), "mine:rate:{user:2}").Val() == 0
	}, 20*time.Second, time.Millisecond, "a full bucket is no key")

	require.NoError(t, client.Set(t.Context(), "mine:rate:{user:3}", "other", 0).Err())
	_, err = ledger.Spend(t.Context(), []ratelimit.Debit{{Key: "{user:3}", N: 1, PerSecond: 1, Burst: 1}})
	require.ErrorContains(t, err, "{user:3}")
}
