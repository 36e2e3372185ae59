package stock

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

func TestAges_Hold_GrowsOlder(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 2, 1)
		s.buy(7)
		require.Eventually(t, func() bool {
			holds := s.openHolds(1)
			return holds[0].Age >= 20*time.Millisecond
		}, 10*time.Second, 5*time.Millisecond)
	})
}

// An entry may wait for a while, and only then its hold begins to grow old.
func TestAges_QueuedHold_GrowsOldLater(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 2, 2)
		of := coupon.Coupon{ID: s.load.CouponID, Shards: 2}
		old := func() (ids []int64) {
			for k := range 2 {
				page, err := s.OldHolds(t.Context(), of, k, 0, 0, 10)
				require.NoError(t, err)
				for _, h := range page {
					ids = append(ids, h.OrderID)
				}
			}
			return ids
		}
		queued := func(user int64, request string) order.ReserveRequest {
			c := s.claim(user, request)
			c.Enqueue, c.QueueCapacity, c.QueueMaxAge = &order.Order{CouponID: c.CouponID, UserID: user, RequestID: request}, 9, time.Hour
			return c
		}
		first := s.claim(s.at(0, 0), "r")
		_, err := reserve(t.Context(), s, first)
		require.NoError(t, err)
		require.Equal(t, []int64{first.OrderID}, old())
		_, err = reserve(t.Context(), s, queued(first.UserID, "r"))
		require.NoError(t, err)
		require.Empty(t, old(), "it has an entry now")
		_, err = reserve(t.Context(), s, queued(s.at(0, 1), "lent"))
		require.NoError(t, err)
		require.Empty(t, old())
		require.Len(t, s.openHolds(2), 3)
	})
}

// Redis may have lost the index, or an instance of an older program may write holds that
// are not in it, and end some that are.
func TestAges_IndexLost_IsRebuilt(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 6, 1)
		h, gone := s.buy(1), s.buy(2)
		key := tag(s.load.CouponID, 0)
		require.NoError(t, s.client.HSet(t.Context(), key+"holds", "epoch", "1").Err(), "a mark is no hold")
		heads, err := s.ReadShards(t.Context(), s.load.CouponID, 1)
		require.NoError(t, err)
		require.EqualValues(t, 2, heads[0].Holds)
		require.NoError(t, s.client.Del(t.Context(), key+"ages").Err())
		require.Len(t, s.openHolds(1), 2)
		old, err := s.OldHolds(t.Context(), coupon.Coupon{ID: s.load.CouponID, Shards: 1}, 0, 0, 0, 9)
		require.NoError(t, err)
		require.Len(t, old, 2)

		require.NoError(t, s.client.HDel(t.Context(), key+"holds", strconv.FormatInt(gone.OrderID, 10)).Err())
		old, err = s.OldHolds(t.Context(), coupon.Coupon{ID: s.load.CouponID, Shards: 1}, 0, 0, 0, 1)
		require.NoError(t, err)
		require.Equal(t, h.OrderID, old[0].OrderID)
		old, err = s.OldHolds(t.Context(), coupon.Coupon{ID: s.load.CouponID, Shards: 1}, 0, 0, 1, 1)
		require.NoError(t, err)
		require.Empty(t, old)
		require.NoError(t, confirm(t.Context(), s, h))
		require.Zero(t, s.ages(0), "what is gone has left it")

		require.NoError(t, s.client.HSet(t.Context(), key+"holds", "99", "spoilt").Err())
		other := s.buy(3)
		for range 2 {
			old, err = s.OldHolds(t.Context(), coupon.Coupon{ID: s.load.CouponID, Shards: 1}, 0, 0, 0, 9)
			require.NoError(t, err)
			require.Len(t, old, 1, "one that cannot be read keeps no other from being settled")
			require.Equal(t, other.OrderID, old[0].OrderID)
			require.EqualValues(t, 2, s.ages(0))
		}
		for _, err = range s.OpenHolds(t.Context(), s.load.CouponID, 0, 1) {
		}
		require.ErrorContains(t, err, `hold "99"`, "but the audit tells of it")
	})
}

// ages counts what the index of a shard has.
func (s *shop) ages(shard int) int64 {
	s.t.Helper()
	n, err := s.client.ZCard(s.t.Context(), tag(s.load.CouponID, shard)+"ages").Result()
	require.NoError(s.t, err)
	return n - 1 // without its mark
}

func TestAges_Loan_IsIndexedOnBothShards(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 3, 2) // 2, 1
		s.buy(s.at(0, 0))
		s.buy(s.at(0, 1))
		h := s.buy(s.at(0, 2))
		require.Equal(t, 1, h.Shard)
		require.Equal(t, []int64{3, 1}, []int64{s.ages(0), s.ages(1)}, "before the holds are read, which would mend it")
		require.NoError(t, confirm(t.Context(), s, h))
		require.Equal(t, []int64{2, 0}, []int64{s.ages(0), s.ages(1)})
	})
}

func TestAgeIndex_HoldEnds_RemovesEntry(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 3, 1)
		released, confirmed, shared := s.buy(1), s.buy(2), s.buy(3)
		_, err := reserve(t.Context(), s, s.claim(3, shared.RequestID))
		require.NoError(t, err)
		require.EqualValues(t, 3, s.ages(0))
		require.NoError(t, release(t.Context(), s, shared))
		require.EqualValues(t, 3, s.ages(0), "another attempt shares it")
		require.NoError(t, release(t.Context(), s, released))
		require.NoError(t, confirm(t.Context(), s, confirmed))
		require.EqualValues(t, 1, s.ages(0))
		s.load.Epoch = 2
		require.NoError(t, s.Load(t.Context(), s.load))
		require.Zero(t, s.ages(0), "an older epoch's")
	})
}
