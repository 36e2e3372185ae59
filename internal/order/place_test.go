package order_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

func TestPlace_Order_IsTheSameInEveryStore(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 10, 1)
		o := s.buy(t, c, 7, "k")
		require.Equal(t, order.Pending, o.Status)
		require.Equal(t, []any{c.ID, int64(7), 1, int64(199)}, []any{o.CouponID, o.UserID, o.Slot, o.PriceCents})
		require.Equal(t, paymentTimeout, o.ExpiresAt.Sub(o.CreatedAt))
		require.Equal(t, coupon.Home(7, shards), o.Shard, "a unit of the user's home")
		require.NotZero(t, o.Fence)

		row, err := s.Get(t.Context(), o.ID, 7)
		require.NoError(t, err)
		require.Equal(t, o, row)
		_, err = s.Get(t.Context(), o.ID, 8)
		require.ErrorIs(t, err, order.ErrNotFound, "somebody else's")
		mine, err := s.List(t.Context(), 7, 0, 10)
		require.NoError(t, err)
		require.Equal(t, []order.Order{o}, mine)

		history, err := s.redis.HGetAll(t.Context(), apptest.Key(c, o.Shard, "requests")).Result()
		require.NoError(t, err)
		delete(history, "epoch") // the mark that tells an empty key from a lost one
		require.Equal(t, map[string]string{o.RequestID: strconv.FormatInt(o.ID, 10)}, history)
		if s.raw != nil {
			require.Equal(t, int64(o.Fence), s.number(t, "SELECT fence FROM fences WHERE user_id = 7"))
		}
		report := s.atRest(t, c, 1)
		require.Equal(t, []int64{9, 9}, []int64{report.Stock, report.Redis})
		require.Empty(t, s.leases(t, 7), "the lock is free")
	})
}

// This is the order of things that place.go promises: what can refuse before what
// costs, the lock around the transaction, the hot row last, and nothing confirmed
// before the commit is known.
func TestPlace_Steps_RunInOrder(t *testing.T) {
	onEach(t, stepsInTheirOrder)
}

func stepsInTheirOrder(t *testing.T, s *shop) {
	c := s.sell(t, 1, 1)
	f := failing()
	instance := s.with(f.into)
	_, err := instance.Place(t.Context(), wish(c, 7, ""))
	require.NoError(t, err)
	want := []string{
		"before admit", "before id", "after id", "before reserve", "after reserve", "before lock", "after lock", "before begin",
		"before commit", "after commit", "before unlock", "before confirm", "after confirm", "leave, bought: true",
	}
	if s.deps.BatchSize > 1 { // the unit is a sibling's: the batch asks for it, and then the request alone
		want = slices.Insert(want, slices.Index(want, "before reserve"), "before reserve")
	}
	require.Equal(t, want, f.seen)

	f.seen = nil
	_, err = instance.Place(t.Context(), wish(c, 8, ""))
	require.ErrorIs(t, err, coupon.ErrSoldOut)
	require.Equal(t, []string{"before admit", "before id", "after id", "before reserve", "leave, bought: false"}, f.seen)
	f.seen = nil
	_, err = instance.Place(t.Context(), wish(c, 9, ""))
	require.ErrorIs(t, err, coupon.ErrSoldOut)
	require.Empty(t, f.seen, "what is known to be sold out costs nothing")
}

func TestPlace_UserKnownAtLimit_TouchesNoStore(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 10, 1)
		f := failing()
		instance := s.with(f.into)
		first, err := instance.Place(t.Context(), wish(c, 7, "k"))
		require.NoError(t, err)
		f.seen = nil
		_, err = instance.Place(t.Context(), wish(c, 7, ""))
		require.ErrorIs(t, err, order.ErrLimitReached)
		require.Equal(t, []string{"before admit", "before id", "after id", "before reserve", "leave, bought: false"}, f.seen)

		f.seen = nil
		_, err = instance.Place(t.Context(), wish(c, 7, ""))
		require.ErrorIs(t, err, order.ErrLimitReached)
		require.Empty(t, f.seen)
		again, err := instance.Place(t.Context(), wish(c, 7, "k"))
		require.NoError(t, err, "the order of the key is shown all the same")
		require.Equal(t, first.ID, again.ID)

		_, err = s.Cancel(t.Context(), first.ID, 7)
		require.NoError(t, err)
		_, err = instance.Place(t.Context(), wish(c, 7, ""))
		require.NoError(t, err, "once its unit is back")
		s.atRest(t, c, 1)
	})
}

func TestPlace_LimitAboveOne_EachUnitHasItsSlot(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		for _, limit := range []int{1, 3} {
			c := s.sell(t, 10, limit)
			for slot := 1; slot <= limit; slot++ {
				require.Equal(t, slot, s.buy(t, c, 7, "").Slot)
			}
			_, err := s.Place(t.Context(), wish(c, 7, ""))
			require.ErrorIs(t, err, order.ErrLimitReached)
			s.buy(t, c, 8, "")
			s.atRest(t, c, int64(limit)+1)
		}
	})
}

func TestPlace_RequestRejected_LeavesNoHold(t *testing.T) { onEach(t, refusedLeavesNothing) }

func refusedLeavesNothing(t *testing.T, s *shop) {
	const alone = "the limit, as the database alone knows"
	for name, tc := range map[string]struct {
		given func(t *testing.T, c coupon.Coupon) // user 7 asks after this
		live  int64
		want  error
	}{
		"sold out": {func(t *testing.T, c coupon.Coupon) {
			s.buy(t, c, 1, "")
			s.buy(t, c, 2, "")
		}, 2, coupon.ErrSoldOut},
		"sold out, as the database alone knows": {func(t *testing.T, c coupon.Coupon) {
			s.exec(t, "UPDATE coupons SET total = 0, stock = 0 WHERE id = ?", c.ID) // until the request is refused
		}, 0, coupon.ErrSoldOut},
		"the limit": {func(t *testing.T, c coupon.Coupon) { s.buy(t, c, 7, "") }, 1, order.ErrLimitReached},
		alone: {func(t *testing.T, c coupon.Coupon) {
			s.buy(t, c, 7, "")
			s.forgetBuyer(t, c, 7)
		}, 1, order.ErrLimitReached},
		"before the window": {func(t *testing.T, c coupon.Coupon) {
			begins := time.Now().Add(time.Hour)
			s.patch(t, c, coupon.Change{BeginsAt: &begins})
		}, 0, coupon.ErrNotStarted},
		"after the window": {func(t *testing.T, c coupon.Coupon) {
			ends := time.Now().Add(-time.Minute)
			s.patch(t, c, coupon.Change{EndsAt: &ends})
		}, 0, coupon.ErrEnded},
		"ended": {func(t *testing.T, c coupon.Coupon) { s.end(t, c) }, 0, coupon.ErrEnded},
		"paused": {func(t *testing.T, c coupon.Coupon) {
			_, err := s.coupons.Pause(t.Context(), c.ID)
			require.NoError(t, err)
		}, 0, coupon.ErrNotLoaded},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, 2, 1)
			tc.given(t, c)
			_, err := s.Place(t.Context(), wish(c, 7, ""))
			require.ErrorIs(t, err, tc.want)
			_, err = s.Place(t.Context(), wish(c, 7, "k"+name))
			require.ErrorIs(t, err, tc.want, "with a key too")
			// What was harmed on purpose is mended, because the audit would tell of it.
			s.exec(t, "UPDATE coupons SET total = 2, stock = 2 WHERE id = ? AND total = 0", c.ID)
			if name == alone {
				require.NoError(t, s.redis.HSet(t.Context(), shardKey(c, coupon.Home(7, shards), "buyers"), 7, 1).Err())
			}
			s.atRest(t, c, tc.live)
			require.Empty(t, s.leases(t, 7))
		})
	}
	t.Run("unknown", func(t *testing.T) {
		_, err := s.Place(t.Context(), order.Request{CouponID: 999, UserID: 7, Key: "k"})
		require.ErrorIs(t, err, coupon.ErrNotFound)
	})
	t.Run("a draft", func(t *testing.T) {
		_, err := s.Place(t.Context(), wish(s.draft(t, 2, 1), 7, "d"))
		require.ErrorIs(t, err, coupon.ErrNotFound)
	})
}

func TestPlace_UserLockHeld_ReturnsErrBusy(t *testing.T) {
	s := open(t)
	c := s.sell(t, 2, 1)
	instance := s.with(func(p *order.Deps) { p.Locker = s.locker(t, 0) })
	err := s.deps.Locker.Do(t.Context(), "user:7", func(ctx context.Context, _ *lock.Lease) error {
		_, err := instance.Place(t.Context(), wish(c, 7, "k"))
		return err
	})
	require.ErrorIs(t, err, order.ErrBusy)
	s.atRest(t, c, 0)
}

func TestPlace_BuyerLeaves_HoldsNothing(t *testing.T) {
	onEach(t, goingAway)
}

func goingAway(t *testing.T, s *shop) {
	for _, step := range []string{"after reserve", "before begin"} {
		t.Run(step, func(t *testing.T) {
			c := s.sell(t, 2, 1)
			ctx, cancel := context.WithCancel(t.Context())
			f := &faults{plan: map[string]func(){step: cancel}}
			_, err := s.with(f.into).Place(ctx, wish(c, 7, ""))
			require.Error(t, err)
			require.Empty(t, f.left())
			s.atRest(t, c, 0)
			require.Empty(t, s.leases(t, 7))
		})
	}
	for name, plan := range map[string]func(cancel func()) map[string]func(){
		"after commit": func(cancel func()) map[string]func() { return map[string]func(){"after commit": cancel} },
		"after a commit whose answer was lost": func(cancel func()) map[string]func() {
			return map[string]func(){"after commit": nil, "before void": cancel}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, 2, 1)
			ctx, cancel := context.WithCancel(t.Context())
			f := &faults{plan: plan(cancel)}
			_, err := s.with(f.into).Place(ctx, wish(c, 7, ""))
			require.NoError(t, err, "it is sold")
			require.Empty(t, f.left())
			require.Empty(t, s.leases(t, 7), "the outcome was known while the lock was held")
			s.atRest(t, c, 1)
		})
	}
}

// forgetBuyer makes the user's home shard forget what the user has.
func (s *shop) forgetBuyer(t *testing.T, c coupon.Coupon, user int64) {
	t.Helper()
	require.NoError(t, s.redis.Del(t.Context(), shardKey(c, coupon.Home(user, shards), "buyers")).Err())
}

func (s *shop) patch(t *testing.T, c coupon.Coupon, change coupon.Change) {
	t.Helper()
	_, err := s.coupons.Patch(t.Context(), c.ID, change)
	require.NoError(t, err)
}
