package stock

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// lent is a shop of two shards whose first is empty, and a hold of one of its
// users, lent by the second.
func lent(t testing.TB, o redisconn.Options) (*shop, order.Hold) {
	t.Helper()
	s := open(t, dial(t, o), 3, 2)
	s.limit = 2
	s.buy(s.at(0, 0))
	s.buy(s.at(0, 1))
	h := s.buy(s.at(0, 2))
	require.Equal(t, 1, h.Shard)
	s.wants(3, 0, 0)
	return s, h
}

func TestConfirm_Repeated_IsRecordedOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		s.limit = 2
		h := s.buy(s.at(0, 0))
		for range 2 {
			require.NoError(t, confirm(t.Context(), s, h))
			require.Equal(t, "1", s.field(0, "buyers", h.UserID))
			require.Empty(t, s.field(0, "open", h.UserID))
			s.wants(0, 1, 2)
		}
		require.NoError(t, release(t.Context(), s, h), "too late")
		s.wants(0, 1, 2)
	})
}

func TestRelease_Repeated_ReturnsUnitOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		h, other := s.buy(s.at(0, 0)), s.buy(s.at(0, 1))
		for range 2 {
			require.NoError(t, release(t.Context(), s, h))
			s.wants(1, 1, 2)
		}
		require.NoError(t, confirm(t.Context(), s, h), "too late")
		require.Empty(t, s.field(0, "buyers", h.UserID))
		require.Equal(t, "1", s.field(0, "open", other.UserID), "another user's")
		s.wants(1, 1, 2)
	})
}

func TestConfirm_LentUnit_IsRecordedOnBothShards(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s, h := lent(t, o)
		for range 2 {
			require.NoError(t, confirm(t.Context(), s, h))
			s.wants(2, 0, 0)
			require.Equal(t, "1", s.field(0, "buyers", h.UserID), "once, though two shards had a hold")
			require.Empty(t, s.field(1, "buyers", h.UserID))
		}
	})
}

func TestReturn_LentUnit_GoesToLender(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s, h := lent(t, o)
		for range 2 {
			require.NoError(t, release(t.Context(), s, h))
			s.wants(2, 0, 1)
			require.Empty(t, s.field(0, "open", h.UserID))
		}
		s.buy(h.UserID)
	})
}

func TestReconciler_LentUnit_EndsBothHalves(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*shop, order.Hold) error
		left int64
	}{
		"confirmed": {func(s *shop, h order.Hold) error { return confirm(s.t.Context(), s, h) }, 0},
		"released":  {func(s *shop, h order.Hold) error { return release(s.t.Context(), s, h) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				s, lent := lent(t, o)
				all := s.openHolds(2)
				halves := 0
				for _, h := range all {
					if h.OrderID == lent.OrderID {
						require.NoError(t, tc.end(s, h))
						halves++
					}
				}
				require.Equal(t, 2, halves)
				s.wants(2, 0, tc.left)
			})
		})
	}
}

// The sender waited, asked again, was answered and sold the unit. Only then the
// first copy of its call arrives.
func TestReserve_LateCopy_TakesNoSecondUnit(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 5, 2) // 3, 2
		for n := range 3 {
			s.buy(s.at(0, n))
		}
		c := s.claim(s.at(0, 3), "r")
		h, err := reserve(t.Context(), s, c)
		require.NoError(t, err)
		require.NoError(t, confirm(t.Context(), s, h))

		answer, err := s.run(t.Context(), lendScript, c.CouponID, h.Shard, c.Epoch, c.RequestID, c.OrderID, c.UserID, "", 0, 0)
		require.NoError(t, err)
		require.Equal(t, "DUPLICATE", answer[0])
		_, _, err = s.reserve(t.Context(), c, 0, markIfEmpty)
		require.ErrorIs(t, err, order.ErrDuplicate)
		s.wants(3, 0, 1)
	})
}

func TestReturn_Repeated_ReturnsUnitHomeOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s, h := lent(t, o)
		require.NoError(t, confirm(t.Context(), s, h))
		second := s.claim(h.UserID, "second")
		require.NoError(t, release(t.Context(), s, s.mine(1)))
		also, err := reserve(t.Context(), s, second)
		require.NoError(t, err)
		require.NoError(t, confirm(t.Context(), s, also))
		require.Equal(t, "2", s.field(0, "buyers", h.UserID))

		applied, err := s.Applied(t.Context(), []order.Restock{back(h), back(also)})
		require.NoError(t, err)
		require.Equal(t, []bool{false, false}, applied)
		for range 2 {
			require.NoError(t, s.Restock(t.Context(), back(h)))
			s.wants(1, 1, 0)
			require.Equal(t, "1", s.field(0, "buyers", h.UserID), "the other one stays bought")
		}
		applied, err = s.Applied(t.Context(), []order.Restock{back(h), back(also)})
		require.NoError(t, err)
		require.Equal(t, []bool{true, false}, applied)
		require.NoError(t, s.Restock(t.Context(), back(also)))
		require.Empty(t, s.field(0, "buyers", h.UserID))
		s.wants(1, 2, 0)
	})
}

// mine is the open hold of the n-th user of the first shard.
func (s *shop) mine(n int) order.Hold {
	s.t.Helper()
	all := s.openHolds(s.load.Shards)
	for _, h := range all {
		if h.UserID == s.at(0, n) {
			return h
		}
	}
	require.Fail(s.t, "no such hold")
	return order.Hold{}
}

func TestReturn_OpenHold_ConfirmsIt(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s, h := lent(t, o) // its instance died between commit and confirmation
		require.NoError(t, s.Restock(t.Context(), back(h)))
		s.wants(2, 1, 0)
		require.Empty(t, s.field(0, "open", h.UserID))
		require.Empty(t, s.field(0, "buyers", h.UserID))
		require.NoError(t, confirm(t.Context(), s, h), "it was only paused")
		require.NoError(t, release(t.Context(), s, h))
		s.wants(2, 1, 0)
		require.Empty(t, s.field(0, "buyers", h.UserID))
	})
}

func TestReturn_OlderEpoch_ChangesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		s.load.Epoch = 9
		require.NoError(t, s.Load(t.Context(), s.load))
		h := s.buy(s.at(0, 0))
		require.NoError(t, confirm(t.Context(), s, h))
		s.load.Epoch, s.load.Units = 10, 3 // as texts, "10" would be the older one
		require.NoError(t, s.Load(t.Context(), s.load))
		require.NoError(t, s.Restock(t.Context(), back(h)))
		s.wants(0, 2, 1)
	})
}

func TestReturn_DuringLoading_Waits(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 3, 2)
		r := order.Restock{OrderID: 5, CouponID: s.load.CouponID, UserID: s.at(0, 0), Epoch: 2, Shards: 2}
		require.ErrorIs(t, s.Restock(t.Context(), r), coupon.ErrNotLoaded, "nothing is there")
		require.NoError(t, s.Load(t.Context(), s.load))
		require.ErrorIs(t, s.Restock(t.Context(), r), coupon.ErrNotLoaded, "the epoch before")
		s.load.Epoch = 2
		for shard := range 2 {
			s.does(clearScript, step{shard, []any{coupon.Share(s.load.Units, 2, shard), "", layout}})
		}
		require.ErrorIs(t, s.Restock(t.Context(), r), coupon.ErrNotLoaded, "cleared and not open")
		require.NoError(t, s.Load(t.Context(), s.load))
		require.NoError(t, s.Restock(t.Context(), r))
		s.wants(0, 3, 1)
	})
}

func TestHolds_OlderEpoch_ChangeNothing(t *testing.T) {
	for name, end := range map[string]func(s *shop, h order.Hold) error{
		"confirm": func(s *shop, h order.Hold) error { return confirm(s.t.Context(), s, h) },
		"release": func(s *shop, h order.Hold) error { return release(s.t.Context(), s, h) },
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				s, old := lent(t, o)
				s.load.Epoch = 2
				require.NoError(t, s.Load(t.Context(), s.load))
				require.NoError(t, end(s, old))
				s.wants(0, 2, 1)
				require.Empty(t, s.field(0, "buyers", old.UserID))

				c := s.claim(old.UserID, old.RequestID)
				c.OrderID = old.OrderID
				_, err := reserve(t.Context(), s, c)
				require.NoError(t, err)
				require.NoError(t, end(s, old))
				s.wants(1, 1, 1)
			})
		})
	}
}

func TestRelease_CounterLost_DoesNotOpenShard(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		h := s.buy(s.at(0, 0))
		require.NoError(t, s.client.Del(t.Context(), tag(s.load.CouponID, 0)+"stock").Err())
		require.NoError(t, release(t.Context(), s, h))
		require.ErrorIs(t, s.Restock(t.Context(), back(h)), coupon.ErrNotLoaded)
		require.ErrorIs(t, s.try(s.at(0, 1)), coupon.ErrNotLoaded)
	})
}
