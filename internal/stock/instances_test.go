package stock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/platform/redisconn"
)

func TestInstances_Every_IsListedWithItsSoldOutCoupons(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		require.NoError(t, client.Del(t.Context(), DefaultPrefix+instancesKey).Err())
		s := open(t, client, 0, 2)
		require.ErrorIs(t, s.try(1), coupon.ErrSoldOut)
		one, two := NewInstances(s.Stock, "one"), NewInstances(New(client, Options{RefusalTTL: time.Minute}), "two")
		_, err := two.Heartbeat(t.Context())
		require.NoError(t, err)
		seen, err := one.Heartbeat(t.Context())
		require.NoError(t, err)
		require.Equal(t, []Instance{{Name: "one", SoldOut: []int64{s.load.CouponID}}, {Name: "two"}}, seen)
	})
}

func TestInstances_Silent_IsHiddenAndLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		require.NoError(t, client.Del(t.Context(), DefaultPrefix+instancesKey).Err())
		require.NoError(t, client.HSet(t.Context(), DefaultPrefix+instancesKey, "dead", "1000 7").Err())
		seen, err := NewInstances(New(client, Options{RefusalTTL: time.Minute}), "alive").Heartbeat(t.Context())
		require.NoError(t, err)
		require.Equal(t, []Instance{{Name: "alive"}}, seen)
		require.False(t, client.HExists(t.Context(), DefaultPrefix+instancesKey, "dead").Val())
		require.Positive(t, client.PTTL(t.Context(), DefaultPrefix+instancesKey).Val(), "a fleet that is gone leaves no key")
	})
}

func TestInstances_RedisUnavailable_ReportsNoPeers(t *testing.T) {
	away := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = away.Close() })
	f := NewInstances(New(away, Options{RefusalTTL: time.Minute}), "one")
	f.peers = []Instance{{Name: "one"}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { f.Run(ctx); close(done) }()
	require.Eventually(t, func() bool { return len(f.Peers()) == 0 }, 5*time.Second, time.Millisecond)
	stop()
	<-done
}

func TestCountHolds_OpenHolds_CountsPerShard(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 10, 2)
		h := s.buy(s.at(0, 1))
		s.buy(s.at(0, 2))
		s.buy(s.at(1, 1))
		open, cameBack, err := s.CountHolds(t.Context(), s.load.CouponID, 2)
		require.NoError(t, err)
		require.Equal(t, []int64{2, 1}, open)
		require.Zero(t, cameBack)
		require.NoError(t, confirm(t.Context(), s, h))
		require.NoError(t, s.Restock(t.Context(), back(h)))
		open, cameBack, err = s.CountHolds(t.Context(), s.load.CouponID, 2)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 1}, open)
		require.Equal(t, int64(1), cameBack)
	})
}
