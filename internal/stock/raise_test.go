package stock

import (
	"context"
	"errors"
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

func TestRaiseAll_ManyCoupons_OneRoundTripAddsWhatEachIsOwed(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		s, all := stocked(t, client, 40, 4)
		_ = s.RaiseAll(t.Context(), all) // a server may not know the script before
		before := leftOf(t, s.Stock, all)
		for i := range all {
			all[i].Raised = int64(i)
		}
		all[3].Epoch++
		sent := countTrips(client)
		errs := s.RaiseAll(t.Context(), all)
		trips, commands := sent.taken()
		require.Equal(t, 160, commands["evalsha"])
		require.LessOrEqual(t, trips-commands["publish"], 1, "the restocks that are announced have trips of their own")
		for i, err := range errs {
			if i == 3 {
				require.ErrorIs(t, err, coupon.ErrNotLoaded)
				all[i].Raised, all[i].Epoch = 0, all[i].Epoch-1
			} else {
				require.NoError(t, err)
			}
		}
		for range 2 {
			for i, left := range leftOf(t, s.Stock, all) {
				require.Equal(t, before[i]+all[i].Raised, left)
			}
			sent.taken()
			require.NoError(t, errors.Join(s.RaiseAll(t.Context(), all)...), "a raise that is repeated adds nothing")
			trips, commands = sent.taken()
			require.Equal(t, map[string]int{"evalsha": 160}, commands)
			require.Equal(t, 1, trips)
		}
	})
}

// leftOf returns the units of each coupon.
func leftOf(t *testing.T, s *Stock, all []coupon.Coupon) (left []int64) {
	t.Helper()
	for _, c := range all {
		shards, err := s.Remaining(t.Context(), c.ID, c.Shards)
		require.NoError(t, err)
		var sum int64
		for _, units := range shards {
			sum += units
		}
		left = append(left, sum)
	}
	return left
}
