package stock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// enqueue has an order of the user in the queue of the shop's coupon.
func (s *shop) enqueue(user int64) {
	s.t.Helper()
	r := s.claim(user, s.request())
	r.QueueCapacity, r.QueueMaxAge = 100, time.Minute
	r.Enqueue = &order.Order{CouponID: r.CouponID, UserID: user, RequestID: r.RequestID, CreatedAt: time.Now(), ExpiresAt: time.Now()}
	_, err := reserve(s.t.Context(), s, r)
	require.NoError(s.t, err)
}

func TestQueue_ManyIdleCoupons_OneRoundTripFindsTheBusyOnes(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		s, all := stocked(t, client, 40, 4)
		for shard := range 4 {
			s.enqueue(s.at(shard, 0))
		}
		sent := countTrips(client)
		q := s.Queue("here", 0)
		waiting, err := q.Waiting(t.Context(), all)
		require.NoError(t, err)
		require.Equal(t, []coupon.Coupon{all[0]}, waiting)
		trips, commands := sent.taken()
		require.Equal(t, 1, trips)
		require.Equal(t, map[string]int{"xlen": 160}, commands)

		given, err := s.Queue("gone", 0).Next(t.Context(), all[0], 16)
		require.NoError(t, err)
		require.Len(t, given, 4)
		sent.taken()
		claimed, err := q.ClaimAbandoned(t.Context(), all[0], 3)
		require.NoError(t, err)
		require.Len(t, claimed, 3)
		trips, _ = sent.taken()
		require.Equal(t, 2, trips)
		require.Equal(t, 2, claimed[0].Deliveries)
	})
}
