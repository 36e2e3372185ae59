package stock

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// listener is another instance's Stock, on a client of its own.
type listener struct {
	*Stock
	heard atomic.Int64 // the coupon that was last said to have changed
}

// listen starts another instance that hears of s, and waits until it does.
func listen(t testing.TB, s *shop, client redis.UniversalClient) *listener {
	t.Helper()
	l := &listener{Stock: New(client, Options{RefusalTTL: longFlag})}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Listen(ctx, l.heard.Store) })
	t.Cleanup(func() { cancel(); running.Wait() })
	l.await(s)
	return l
}

// await waits until what s says is heard.
func (l *listener) await(s *shop) {
	s.t.Helper()
	l.heard.Store(0)
	require.Eventually(s.t, func() bool {
		require.NoError(s.t, s.AnnounceChange(s.t.Context(), s.load.CouponID))
		return l.heard.Load() == s.load.CouponID
	}, 10*time.Second, 5*time.Millisecond)
}

// seesSoldOut makes the listener raise its flag.
func (l *listener) seesSoldOut(s *shop, user int64) {
	s.t.Helper()
	_, err := reserve(s.t.Context(), l, s.claim(user, s.request()))
	require.ErrorIs(s.t, err, coupon.ErrSoldOut)
	require.True(s.t, l.SoldOut(s.load.CouponID, s.load.Epoch))
}

func TestEvents_UnitReturned_ReachEveryInstance(t *testing.T) {
	for name, comesBack := range map[string]func(s *shop, h order.Hold) error{
		"released": func(s *shop, h order.Hold) error { return release(s.t.Context(), s, h) },
		"returned": func(s *shop, h order.Hold) error { return s.Restock(s.t.Context(), back(h)) },
		"loaded": func(s *shop, _ order.Hold) error {
			s.load.Epoch++
			return s.Load(s.t.Context(), s.load)
		},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				s := open(t, dial(t, o), 2, 2)
				there := listen(t, s, dial(t, o))
				h := s.buy(s.at(0, 0))
				s.buy(s.at(0, 1))
				there.seesSoldOut(s, s.at(0, 2))
				require.ErrorIs(t, s.try(s.at(0, 3)), coupon.ErrSoldOut)
				require.True(t, s.SoldOut(s.load.CouponID, 1))

				epoch := s.load.Epoch
				require.NoError(t, comesBack(s, h))
				require.False(t, s.SoldOut(s.load.CouponID, epoch), "at once where it came back")
				require.Eventually(t, func() bool { return !there.SoldOut(s.load.CouponID, epoch) }, time.Second, time.Millisecond)
				s.buy(s.at(1, 2))
			})
		})
	}
}

func TestEvents_EmptyShard_AnnouncesFirstUnitOnly(t *testing.T) {
	o := backends["a server"](t)
	s := open(t, dial(t, o), 4, 2)
	there := listen(t, s, dial(t, o))
	h := []order.Hold{s.buy(s.at(0, 0)), s.buy(s.at(0, 1))}
	require.NoError(t, release(t.Context(), s, h[0]))
	there.await(s)
	require.Equal(t, uint64(1), there.soldOut.version(s.load.CouponID))
	require.NoError(t, release(t.Context(), s, h[1]))
	there.await(s)
	require.Equal(t, uint64(1), there.soldOut.version(s.load.CouponID))
}

func TestEvents_MalformedMessage_IsIgnored(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 2, 2)
		there := listen(t, s, dial(t, o))
		for _, odd := range []string{"", "changed", "changed x", "changed ", "unheard-of 7", "returned -"} {
			require.NoError(t, s.client.Publish(t.Context(), s.prefix+channel, odd).Err())
		}
		there.await(s)
	})
}

func TestSoldOut_Cached_NeedsNoRedis(t *testing.T) {
	server := testservers.NewRedis(t)
	s := open(t, dial(t, redisconn.Options{Addrs: []string{server.Addr()}}), 1, 2)
	h := s.buy(s.at(0, 0))
	require.ErrorIs(t, s.try(s.at(0, 1)), coupon.ErrSoldOut)
	require.NoError(t, server.Kill())
	require.True(t, s.SoldOut(s.load.CouponID, s.load.Epoch))

	ctx, id := t.Context(), s.load.CouponID
	for name, call := range map[string]func() error{
		"Reserve":   func() error { return s.try(s.at(0, 2)) },
		"Confirm":   func() error { return confirm(ctx, s, h) },
		"Release":   func() error { return release(ctx, s, h) },
		"Return":    func() error { return s.Restock(ctx, back(h)) },
		"Load":      func() error { return s.Load(ctx, s.load) },
		"Loaded":    func() error { _, err := s.Loaded(ctx, id, 1, 2); return err },
		"Remaining": func() error { _, err := s.Remaining(ctx, id, 2); return err },
		"Heads":     func() error { _, err := s.ReadShards(ctx, id, 2); return err },
		"OpenHolds": func() error {
			for _, err := range s.OpenHolds(ctx, id, 0, 2) {
				return err
			}
			return nil
		},
		"OldHolds": func() error { _, err := s.OldHolds(ctx, coupon.Coupon{ID: id, Shards: 2}, 0, 0, 0, 9); return err },
		"Traces": func() error {
			_, err := s.Traces(ctx, id, make([]Shard, 2), []order.Order{{ID: 1, UserID: 1, RequestID: "r"}})
			return err
		},
		"Free":            func() error { _, err := s.Free(ctx, id, 1); return err },
		"Applied":         func() error { _, err := s.Applied(ctx, []order.Restock{back(h)}); return err },
		"PutTicket":       func() error { return s.PutUnresolved(ctx, []order.Order{{ID: 1}})[0] },
		"Ticket":          func() error { _, err := s.Unresolved(ctx, 1); return err },
		"AnnounceChange":  func() error { return s.AnnounceChange(ctx, id) },
		"AnnounceRestock": func() error { return s.AnnounceRestock(ctx, id) },
	} {
		require.ErrorIs(t, call(), order.ErrUnavailable, name)
	}
}
