package stock

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// queued is a batch of requests with an entry each.
func (s *shop) queued(room int, users ...int64) (all []order.ReserveRequest) {
	for _, user := range users {
		c := s.claim(user, s.request())
		c.Enqueue = &order.Order{ID: c.OrderID, CouponID: c.CouponID, UserID: user, RequestID: c.RequestID}
		c.QueueCapacity, c.QueueMaxAge = room, time.Second
		all = append(all, c)
	}
	return all
}

func TestQueueBatch_Entries_AreQueuedReadAndAcknowledged(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 20, 2)
		q, c := s.Queue("one", time.Minute), coupon.Coupon{ID: s.load.CouponID, Epoch: s.load.Epoch, Shards: 2}
		got := s.Reserve(t.Context(), s.queued(2, s.at(0, 0), s.at(1, 0), s.at(0, 1), s.at(0, 2)))
		s.requireOutcomes(refusalsOf(got), nil, nil, nil, order.ErrOverloaded)
		require.Equal(t, int64(2), got[2].Hold.Number)
		require.Equal(t, int64(1), got[2].Hold.Ahead)

		var unresolved []order.Order
		for _, r := range got[:3] {
			unresolved = append(unresolved, order.Order{ID: r.Hold.OrderID, Status: order.Queued, RequestID: r.Hold.RequestID})
		}
		require.NoError(t, errors.Join(s.PutUnresolved(t.Context(), unresolved)...))
		entries, err := q.Next(t.Context(), c, 10)
		require.NoError(t, err)
		require.Len(t, entries, 3)

		stale := entries[0]
		stale.Hold.Epoch++
		require.NoError(t, errors.Join(q.ackMany(t.Context(), []order.Entry{stale})...))
		require.Equal(t, int64(3), s.entries(2), "of another epoch")
		require.NoError(t, errors.Join(q.AckCommitted(t.Context(), entries[:2])...))
		require.NoError(t, errors.Join(q.AckCommitted(t.Context(), entries[:2])...), "twice is once")
		require.Equal(t, int64(1), s.entries(2))
		for i, e := range entries {
			o, err := s.Unresolved(t.Context(), e.Hold.OrderID)
			require.NoError(t, err)
			require.Equal(t, e.Hold.RequestID, o.RequestID)
			ttl := s.client.TTL(t.Context(), ticketKey(o.ID)).Val()
			require.Equal(t, i < 2, ttl <= resolvedTTL, "entry %d: %v", i, ttl)
		}
		require.NoError(t, errors.Join(q.ackMany(t.Context(), entries)...))
		require.Zero(t, s.entries(2))
	})
}

// entries counts what is queued, and what the group has not acknowledged.
func (s *shop) entries(shards int) (n int64) {
	s.t.Helper()
	pending := int64(0)
	for shard := range shards {
		key := tag(s.load.CouponID, shard) + "queue"
		n += s.client.XLen(s.t.Context(), key).Val()
		group, err := s.client.XPending(s.t.Context(), key, consumerGroup).Result()
		require.NoError(s.t, err)
		pending += group.Count
	}
	require.Equal(s.t, n, pending)
	return n
}

func TestQueueBatch_EntryWithoutReply_IsAcknowledgedAgain(t *testing.T) {
	s, proxy := behind(t)
	q, c := s.Queue("one", time.Minute), coupon.Coupon{ID: s.load.CouponID, Epoch: s.load.Epoch, Shards: 2}
	s.holdsOf(s.Reserve(t.Context(), s.queued(9, s.at(0, 0), s.at(1, 0))))
	entries, err := q.Next(t.Context(), c, 10)
	require.NoError(t, err)
	t.Cleanup(proxy.LoseReplies(4))
	require.ErrorIs(t, s.all(q.ackMany(t.Context(), entries)), order.ErrUnavailable)
	require.Eventually(t, func() bool { return s.client.Ping(t.Context()).Err() == nil }, 5*time.Second, time.Millisecond)
	require.NoError(t, s.all(q.ackMany(t.Context(), entries)))
	require.Zero(t, s.entries(2))
}
