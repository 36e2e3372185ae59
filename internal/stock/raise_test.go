package stock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/platform/redisconn"
)

// raise adds units until so many were added in all.
func (s *shop) raise(ctx context.Context, raised int64) error {
	return s.Raise(ctx, s.load.CouponID, s.load.Epoch, s.load.Shards, raised)
}

func TestRaise_RepeatedOrLate_AddsWhatTheLargestNames(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 3)
		for _, raised := range []int64{2, 2, 7, 2, 7, 0} {
			require.NoError(t, s.raise(t.Context(), raised))
		}
		s.wants(0, 5, 3, 3)
		shards, err := s.ReadShards(t.Context(), s.load.CouponID, 3)
		require.NoError(t, err)
		require.Equal(t, []int64{3, 2, 2}, []int64{shards[0].Raised, shards[1].Raised, shards[2].Raised})
	})
}

func TestRaise_ShardClosedOrOfAnotherEpoch_IsNotLoaded(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 4, 2)
		require.ErrorIs(t, s.raise(t.Context(), 3), coupon.ErrNotLoaded)
		require.NoError(t, s.Fill(t.Context(), s.load))
		require.ErrorIs(t, s.raise(t.Context(), 3), coupon.ErrNotLoaded, "it is filled, and not open")
		require.NoError(t, s.Open(t.Context(), s.load))
		s.wants(0, 2, 2)
		require.ErrorIs(t, s.Raise(t.Context(), s.load.CouponID, 2, 2, 3), coupon.ErrNotLoaded, "of the next epoch")
		require.NoError(t, s.raise(t.Context(), 3))
		s.wants(0, 4, 3)

		older := s.load
		s.load.Epoch, s.load.Units = 2, 7
		require.NoError(t, s.Load(t.Context(), s.load))
		require.ErrorIs(t, s.Raise(t.Context(), older.CouponID, older.Epoch, 2, 3), coupon.ErrNotLoaded)
		s.wants(0, 4, 3)
		require.NoError(t, s.raise(t.Context(), 1), "what was added to the older epoch is not counted")
		s.wants(0, 5, 3)
	})
}

// Another instance refuses from memory, until it hears of the units.
func TestRaise_CouponSoldOut_EveryInstanceHearsOfTheUnits(t *testing.T) {
	somewhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		s := open(t, client, 2, 2)
		other := listen(t, s, dial(t, o))
		for user := range int64(2) {
			s.buy(user + 1)
		}
		other.seesSoldOut(s, 9)
		require.NoError(t, s.raise(t.Context(), 1))
		require.Eventually(t, func() bool { return !other.SoldOut(s.load.CouponID, 1) }, patience, time.Millisecond)
		require.False(t, s.SoldOut(s.load.CouponID, 1))
	})
}
