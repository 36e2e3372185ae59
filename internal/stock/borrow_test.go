package stock

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// race is a shop whose first shard is empty, and one of its users. What the
// others do is done through another client.
type race struct {
	*shop
	others redis.UniversalClient
	user   int64
}

// racing opens a shop of so many shards; the siblings have one unit each.
func racing(t testing.TB, o redisconn.Options, shards int) race {
	t.Helper()
	r := race{shop: open(t, dial(t, o), int64(shards), shards), others: dial(t, o)}
	r.user = r.at(0, 0)
	r.set(0, 0)
	return r
}

// set makes the units of a shard what others have left of them.
func (r race) set(shard int, units int) {
	r.t.Helper()
	require.NoError(r.t, r.others.Set(r.t.Context(), tag(r.load.CouponID, shard)+"stock", units, 0).Err())
}

// requireNoMark says that the user may try again at once.
func (r race) requireNoMark() {
	r.t.Helper()
	require.Empty(r.t, r.field(0, "open", r.user))
	all := r.openHolds(r.load.Shards)
	require.Empty(r.t, all)
}

func TestBorrow_EveryRaceLost_IsBusyAndLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 2)
		m := meddle(r.client, func(call string) {
			switch call {
			case readAll:
				r.set(1, 1)
			case "lend":
				r.set(1, 0)
			}
		})
		require.ErrorIs(t, r.try(r.user), order.ErrBusy)
		require.Equal(t, maxBorrowAttempts, m.calls["lend"])
		require.False(t, r.SoldOut(r.load.CouponID, r.load.Epoch))
		r.requireNoMark()
	})
}

func TestBorrow_RaceLost_AsksNextSibling(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 3)
		m := meddle(r.client, once("lend", func() { r.set(1, 0) }))
		require.Equal(t, 2, r.buy(r.user).Shard)
		require.Equal(t, 1, m.calls[readAll], "in the same round")
		r.wants(1, 0, 0, 0)
	})
}

func TestBorrow_HomeHasUnitAgain_TakesIt(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 3)
		meddle(r.client, once("lend", func() {
			r.set(1, 0)
			r.set(2, 0)
			r.set(0, 1)
		}))
		h := r.buy(r.user)
		require.Equal(t, 0, h.Shard)
		r.wants(1, 0, 0, 0)
		require.NoError(t, release(t.Context(), r, h))
		r.wants(0, 1, 0, 0)
		r.requireNoMark()
	})
}

func TestBorrow_HomeHasUnitBeforeMark_SellsIt(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 2)
		m := meddle(r.client, once(readAll, func() { r.set(0, 1) }))
		require.Equal(t, 0, r.buy(r.user).Shard)
		require.Zero(t, m.calls["lend"])
		r.wants(1, 0, 1)
	})
}

// Its counter was read above zero and is empty again when the mark is made. Asked
// to lend, it would take the mark for the unit.
func TestBorrow_OwnHome_DoesNotLend(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 2)
		read := false
		meddle(r.client, func(call string) {
			switch {
			case call == readAll:
				r.set(0, 1)
				read = true
			case call == "reserve" && read:
				r.set(0, 0)
			}
		})
		require.Equal(t, 1, r.buy(r.user).Shard)
		r.wants(1, 0, 0)
	})
}

func TestBorrow_AllEmptyAfterRace_LeavesNoMark(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 2)
		meddle(r.client, once("lend", func() { r.set(1, 0) }))
		require.ErrorIs(t, r.try(r.user), coupon.ErrSoldOut)
		require.True(t, r.SoldOut(r.load.CouponID, r.load.Epoch))
		r.requireNoMark()
	})
}

func TestBorrow_MarkRemoved_KeepsSoldOutFlag(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 2)
		var version uint64
		meddle(r.client, once("lend", func() {
			r.set(1, 0)
			require.ErrorIs(t, r.try(r.at(0, 1)), coupon.ErrSoldOut)
			version = r.soldOut.version(r.load.CouponID)
		}))
		require.ErrorIs(t, r.try(r.user), coupon.ErrSoldOut)
		require.Equal(t, version, r.soldOut.version(r.load.CouponID))
	})
}

func TestBorrow_RefusedBySiblings_LeavesNoMark(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(r race)
		want      error
	}{
		"its counter was lost": {func(r race) {
			require.NoError(r.t, r.others.Del(r.t.Context(), tag(r.load.CouponID, 1)+"stock").Err())
		}, coupon.ErrNotLoaded},
		"it is of another epoch": {func(r race) {
			require.NoError(r.t, r.others.HSet(r.t.Context(), tag(r.load.CouponID, 1)+"meta", "epoch", 2).Err())
		}, order.ErrStaleEpoch},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				r := racing(t, o, 2)
				meddle(r.client, once("lend", func() { tc.meanwhile(r) }))
				require.ErrorIs(t, r.try(r.user), tc.want)
				r.requireNoMark()
			})
		})
	}
}

func TestBorrow_UnreadableShard_IsNotEmpty(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(r race, key string) error
		want  error
	}{
		"it is not there": {func(r race, key string) error { return r.others.Del(r.t.Context(), key).Err() }, coupon.ErrNotLoaded},
		"it answers with an error": {func(r race, key string) error {
			if err := r.others.Del(r.t.Context(), key).Err(); err != nil {
				return err
			}
			return r.others.RPush(r.t.Context(), key, "no counter").Err()
		}, order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				r := racing(t, o, 3)
				require.NoError(t, tc.spoil(r, tag(r.load.CouponID, 1)+"stock"))
				require.Equal(t, 2, r.buy(r.at(0, 1)).Shard, "the others sell on")
				require.ErrorIs(t, r.try(r.user), tc.want)
				require.False(t, r.SoldOut(r.load.CouponID, r.load.Epoch))
				require.Empty(t, r.field(0, "open", r.user))
			})
		})
	}
}

func TestBorrow_CutOffAtSibling_IsLeftToReconciler(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 2)
		ctx, cancel := context.WithCancel(t.Context())
		meddle(r.client, once("lend", cancel))
		c := r.claim(r.user, "r")
		_, err := reserve(ctx, r, c)
		require.ErrorIs(t, err, order.ErrUnavailable)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, r.try(r.user), order.ErrBusy, "whether a unit was lent is not known")
		all := r.openHolds(2)
		require.Len(t, all, 1)
		require.NoError(t, release(t.Context(), r, all[0]))
		r.requireNoMark()
		r.wants(0, 0, 1)
	})
}

func TestBorrow_CallerGoneAfterRefusal_LeavesNoMark(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 2)
		ctx, cancel := context.WithCancel(t.Context())
		meddle(r.client, func(call string) {
			switch call {
			case "lend":
				r.set(1, 0)
			case "release":
				cancel()
			}
		})
		_, err := reserve(ctx, r, r.claim(r.user, "r"))
		require.ErrorIs(t, err, order.ErrUnavailable)
		r.requireNoMark()
	})
}
