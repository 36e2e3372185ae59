package stock

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

func TestReserve_HomeHasUnits_TakesOneThere(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 8, 4)
		h := s.buy(s.at(2, 0))
		require.Equal(t, 2, h.Shard)
		require.Equal(t, h.OrderID, h.Attempt)
		s.wants(1, 2, 2, 1, 2)
	})
}

func TestReserve_HomeEmpty_BorrowsFromFullestSibling(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 7, 3) // 3, 2, 2
		for n := range 2 {
			s.buy(s.at(2, n))
		}
		s.buy(s.at(0, 0))
		s.buy(s.at(0, 1)) // 1, 2, 0
		h := s.buy(s.at(2, 2))
		require.Equal(t, 1, h.Shard)
		s.wants(5, 1, 1, 0)
		require.Equal(t, "1", s.field(2, "open", h.UserID), "the buyer is accounted at home")
		require.ErrorIs(t, s.try(h.UserID), order.ErrBusy)
	})
}

func TestReserve_SoldOut_OnlyAfterEveryUnit(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 9, 4)
		for n := range 9 { // all of one home
			s.buy(s.at(0, n))
			require.False(t, s.SoldOut(s.load.CouponID, s.load.Epoch))
		}
		require.ErrorIs(t, s.try(s.at(0, 9)), coupon.ErrSoldOut)
		s.wants(9, 0, 0, 0, 0)
		require.Empty(t, s.field(0, "open", s.at(0, 9)), "who was refused left nothing")
	})
}

func TestReserve_Limit_CountsHoldsAndOrders(t *testing.T) {
	for name, limit := range map[string]int{"limit 1": 1, "limit 3": 3, "limit 12, a number and not a text": 12} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				s := open(t, dial(t, o), 40, 2)
				s.limit = limit
				user := s.at(1, 0)
				var holds []order.Hold
				for range limit {
					holds = append(holds, s.buy(user))
				}
				require.ErrorIs(t, s.try(user), order.ErrBusy, "all are open")
				for _, h := range holds[1:] {
					require.NoError(t, release(t.Context(), s, h))
				}
				for i := range holds[1:] {
					holds[i+1] = s.buy(user)
				}
				require.ErrorIs(t, s.try(user), order.ErrBusy, "all but one were released and taken again")
				for i, h := range holds[:limit-1] {
					require.NoError(t, confirm(t.Context(), s, h))
					require.ErrorIs(t, s.try(user), order.ErrBusy, "%d bought, the others open", i+1)
				}
				require.NoError(t, confirm(t.Context(), s, holds[limit-1]))
				require.ErrorIs(t, s.try(user), order.ErrLimitReached, "all are bought")
				require.NoError(t, s.Restock(t.Context(), back(holds[0])))
				s.buy(user)
				s.wants(1, 20, 20-int64(limit))
			})
		})
	}
}

func TestReserve_Borrowing_KeepsLimit(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 3, 3)
		s.buy(s.at(0, 0))
		h := s.buy(s.at(0, 1))
		require.ErrorIs(t, s.try(h.UserID), order.ErrBusy)
		require.NoError(t, confirm(t.Context(), s, h))
		require.ErrorIs(t, s.try(h.UserID), order.ErrLimitReached)
		s.wants(1, 0, 0, 1)
	})
}

func TestReserve_SameAttempt_GetsSameHold(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		c := s.claim(s.at(0, 0), "r")
		first, err := reserve(t.Context(), s, c)
		require.NoError(t, err)
		again, err := reserve(t.Context(), s, c)
		require.NoError(t, err)
		require.Equal(t, first, again)
		s.wants(1, 1, 2)
		require.NoError(t, release(t.Context(), s, again))
		s.wants(0, 2, 2)
	})
}

func TestReserve_UnitAlreadyLent_GetsNoOther(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 3, 3)
		s.buy(s.at(0, 0))
		c := s.claim(s.at(0, 1), "r")
		h, err := reserve(t.Context(), s, c)
		require.NoError(t, err)
		_, err = reserve(t.Context(), s, c)
		require.ErrorIs(t, err, order.ErrBusy, "the same attempt")
		_, err = reserve(t.Context(), s, s.claim(c.UserID, "r"))
		require.ErrorIs(t, err, order.ErrBusy, "another attempt of the request")
		s.wants(2, 0, 0, 1)

		require.NoError(t, confirm(t.Context(), s, h))
		_, err = reserve(t.Context(), s, s.claim(c.UserID, "r"))
		require.ErrorIs(t, err, order.ErrDuplicate)
	})
}

func TestShares_LastOneReleased_ReturnsUnit(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		user := s.at(0, 0)
		var shares []order.Hold
		for range 3 {
			c := s.claim(user, "r")
			h, err := reserve(t.Context(), s, c)
			require.NoError(t, err)
			require.Equal(t, c.OrderID, h.Attempt)
			shares = append(shares, h)
			require.Equal(t, shares[0].OrderID, h.OrderID, "one order, whichever attempt commits it")
		}
		for _, i := range []int{1, 0} { // the middle one and the first
			require.NoError(t, release(t.Context(), s, shares[i]))
			require.NoError(t, release(t.Context(), s, shares[i]), "twice is once")
			s.wants(1, 1, 2)
		}
		require.NoError(t, release(t.Context(), s, shares[2]))
		s.wants(0, 2, 2)
		require.Empty(t, s.field(0, "open", user))
		_, err := reserve(t.Context(), s, s.claim(user, "r"))
		require.NoError(t, err, "the request is forgotten and may ask again")
	})
}

func TestShares_NumberIsAPrefix_IsNotConfused(t *testing.T) {
	for name, last := range map[string]int{"the longest ends last": 0, "the shortest ends last": 2} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				s := open(t, dial(t, o), 2, 1)
				var shares []order.Hold
				for _, id := range []int64{111, 11, 1} {
					c := s.claim(7, "r")
					c.OrderID = id
					h, err := reserve(t.Context(), s, c)
					require.NoError(t, err)
					shares = append(shares, h)
				}
				require.NoError(t, release(t.Context(), s, shares[2-last]))
				require.NoError(t, release(t.Context(), s, shares[1]))
				s.wants(1, 1)
				require.NoError(t, release(t.Context(), s, shares[last]))
				s.wants(0, 2)
			})
		})
	}
}

func TestShares_Reconciler_EndsAllAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 1, 1)
		for range 2 {
			_, err := reserve(t.Context(), s, s.claim(7, "r"))
			require.NoError(t, err)
		}
		open := s.openHolds(1)
		require.Len(t, open, 1)
		require.NoError(t, release(t.Context(), s, open[0]))
		s.wants(0, 1)
	})
}

func TestReserve_ConfirmedRequest_IsADuplicateForEver(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 2, 1)
		s.limit = 2
		c := s.claim(7, "r")
		h, err := reserve(t.Context(), s, c)
		require.NoError(t, err)
		require.NoError(t, confirm(t.Context(), s, h))
		for name, again := range map[string]order.ReserveRequest{"the attempt": c, "another attempt": s.claim(7, "r")} {
			_, err = reserve(t.Context(), s, again)
			require.ErrorIs(t, err, order.ErrDuplicate, name)
		}
		require.NoError(t, s.Restock(t.Context(), back(h)))
		_, err = reserve(t.Context(), s, c)
		require.ErrorIs(t, err, order.ErrDuplicate, "also when its order has ended")
		s.wants(0, 2)
	})
}

func TestReserve_ShardNotLoaded_ReturnsErrNotLoaded(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 4, 2)
		require.ErrorIs(t, s.try(7), coupon.ErrNotLoaded, "never")
		require.NoError(t, s.Load(t.Context(), s.load))
		require.NoError(t, s.client.Del(t.Context(), tag(s.load.CouponID, 0)+"stock").Err())
		require.ErrorIs(t, s.try(s.at(0, 0)), coupon.ErrNotLoaded, "its counter was lost")
		s.buy(s.at(1, 0))
		answer, err := s.run(t.Context(), lendScript, s.load.CouponID, 0, 1, "r", lastID.Add(1), s.at(1, 1), "", 0, 0)
		require.NoError(t, err)
		require.Equal(t, "NOTLOADED", answer[0], "to a borrower too")
	})
}

func TestReserve_OlderEpoch_IsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		c := s.claim(7, "r")
		s.load.Epoch = 10 // "10" is less than "9" as a text, and not equal to 1
		require.NoError(t, s.Load(t.Context(), s.load))
		_, err := reserve(t.Context(), s, c)
		require.ErrorIs(t, err, order.ErrStaleEpoch)
		s.wants(0, 2, 2)
	})
}
