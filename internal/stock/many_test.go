package stock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// many reserves for all, each with a new request of a user.
func (s *shop) many(users ...int64) []order.Reservation {
	s.t.Helper()
	var all []order.ReserveRequest
	for _, user := range users {
		all = append(all, s.claim(user, s.request()))
	}
	return s.Reserve(s.t.Context(), all)
}

// holdsOf is the holds of reservations, which must have succeeded.
func (s *shop) holdsOf(all []order.Reservation) (holds []order.Hold) {
	s.t.Helper()
	for i, r := range all {
		require.NoError(s.t, r.Err, "member %d", i)
		holds = append(holds, r.Hold)
	}
	return holds
}

// refusalsOf is the outcome of each reservation.
func refusalsOf(all []order.Reservation) (refused []error) {
	for _, r := range all {
		refused = append(refused, r.Err)
	}
	return refused
}

func (s *shop) requireOutcomes(got []error, want ...error) {
	s.t.Helper()
	require.Len(s.t, got, len(want))
	for i := range want {
		if want[i] == nil {
			require.NoError(s.t, got[i], "member %d", i)
		} else {
			require.ErrorIs(s.t, got[i], want[i], "member %d", i)
		}
	}
}

func TestBatch_EachMember_IsRejectedForItsOwnReason(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 20, 2)
		s.limit = 2
		a, b, c, d := s.at(0, 0), s.at(0, 1), s.at(1, 0), s.at(1, 1)
		require.NoError(t, errors.Join(s.Confirm(t.Context(), s.holdsOf(s.many(b, b)))...))
		first := s.claim(a, "twice")
		another, stale, elsewhere := s.claim(a, "twice"), s.claim(d, "stale"), s.claim(d, "elsewhere")
		stale.Epoch++
		elsewhere.CouponID = lastID.Add(1)
		done := s.claim(d, "done")
		require.NoError(t, confirm(t.Context(), s, s.holdsOf(s.Reserve(t.Context(), []order.ReserveRequest{done}))[0]))

		got := s.Reserve(t.Context(), []order.ReserveRequest{
			first, s.claim(b, "third"), stale, another, s.claim(a, "second"), first, s.claim(a, "third"), elsewhere, s.claim(c, "c"), done,
		})
		s.requireOutcomes(refusalsOf(got),
			nil, order.ErrLimitReached, order.ErrStaleEpoch, nil, nil, nil, order.ErrBusy, coupon.ErrNotLoaded, nil, order.ErrDuplicate)
		require.Equal(t, first.OrderID, got[3].Hold.OrderID, "the request has one hold")
		require.Equal(t, another.OrderID, got[3].Hold.Attempt)
		require.Equal(t, got[0], got[5])
		s.wants(3, 10-2-2, 10-1-1)
		all, err := s.ReadShards(t.Context(), s.load.CouponID, 2)
		require.NoError(t, err)
		require.Equal(t, []int64{4, 2}, []int64{all[0].Requests, all[1].Requests}, "nothing is written of those refused")
		for i, got := range got {
			if got.Err != nil {
				require.Zero(t, got.Hold, "member %d", i)
			}
		}
	})
}

func TestBatch_LastUnits_GoToFirstMembers(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		got := s.many(s.at(0, 0), s.at(0, 1), s.at(0, 2), s.at(1, 0))
		s.requireOutcomes(refusalsOf(got), nil, nil, order.ErrFallback, nil)
		require.False(t, s.SoldOut(s.load.CouponID, s.load.Epoch))
		s.wants(3, 0, 1)
		s.requireOutcomes(refusalsOf(s.many(s.at(0, 2))), order.ErrFallback)
		s.wants(3, 0, 1)
		require.Equal(t, 1, s.buy(s.at(0, 2)).Shard, "alone it borrows")
		got = s.many(s.at(0, 3), s.at(1, 1), s.at(0, 0))
		s.requireOutcomes(refusalsOf(got), coupon.ErrSoldOut, coupon.ErrSoldOut, order.ErrBusy)
		require.True(t, s.SoldOut(s.load.CouponID, s.load.Epoch))
		s.wants(4, 0, 0)
	})
}

func TestReserve_AloneAmongOthers_BorrowsAndTheOthersDoNot(t *testing.T) {
	s := open(t, dial(t, backends["a server"](t)), 4, 2)
	s.many(s.at(0, 0), s.at(0, 1))
	all := []order.ReserveRequest{s.claim(s.at(0, 2), "a"), s.claim(s.at(0, 3), "b"), s.claim(s.at(1, 0), "c")}
	all[1].Alone = true
	got := s.Reserve(t.Context(), all)
	s.requireOutcomes(refusalsOf(got), coupon.ErrSoldOut, nil, nil)
	require.Equal(t, 1, got[1].Hold.Shard)
	s.wants(4, 0, 0)
}

// An unread shard may have units, so each request learns the outcome by itself.
func TestBatch_ShardUnread_IsNotSoldOut(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 2, 2)
		s.buy(s.at(0, 0))
		require.NoError(t, s.client.Del(t.Context(), tag(s.load.CouponID, 1)+"stock").Err())
		s.requireOutcomes(refusalsOf(s.many(s.at(0, 1), s.at(1, 0))), order.ErrFallback, coupon.ErrNotLoaded)
		require.False(t, s.SoldOut(s.load.CouponID, s.load.Epoch))
	})
}

func TestReserve_MemberContextEnded_SkipsMember(t *testing.T) {
	s := open(t, dial(t, backends["a server"](t)), 4, 1)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	all := []order.ReserveRequest{s.claim(1, "1"), s.claim(2, "2"), s.claim(3, "3")}
	all[0].Context, all[1].Context = t.Context(), gone
	got := refusalsOf(s.Reserve(t.Context(), all))
	s.requireOutcomes(got, nil, order.ErrUnavailable, nil)
	require.ErrorIs(t, got[1], context.Canceled)
	s.wants(2, 2)
}

// While the limit of a coupon is being raised, instances and requests know different ones.
func TestBatch_EachMember_HasItsOwnLimit(t *testing.T) {
	for _, first := range []int{1, 2} {
		s := open(t, dial(t, backends["a server"](t)), 9, 1)
		s.limit = 2
		bought := []order.Hold{s.buy(s.at(0, 0)), s.buy(s.at(0, 1))}
		for _, err := range s.Confirm(t.Context(), bought) {
			require.NoError(t, err)
		}
		all := []order.ReserveRequest{s.claim(bought[0].UserID, "third"), s.claim(bought[1].UserID, "fourth")}
		all[0].Limit, all[1].Limit = first, 3-first
		want := []error{nil, order.ErrLimitReached}
		if first == 1 {
			slices.Reverse(want)
		}
		s.requireOutcomes(refusalsOf(s.Reserve(t.Context(), all)), want...)
	}
}

func TestBatch_Empty_SendsNothing(t *testing.T) {
	s := open(t, dial(t, backends["a server"](t)), 1, 1)
	m := meddle(s.client, func(string) {})
	require.Empty(t, s.Reserve(t.Context(), nil))
	require.Empty(t, s.Confirm(t.Context(), nil))
	require.Empty(t, s.Release(t.Context(), nil))
	require.Empty(t, m.calls)
}

// A batch larger than one script, over several shards and coupons, returns each member its own result.
func TestBatch_Large_IsSplitIntoScripts(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		const each = 3*maxMembers + 1
		one, two := open(t, client, 2*each, 2), open(t, client, each-7, 1)
		two.Stock = one.Stock
		m := meddle(client, func(string) {})
		require.NoError(t, reserveScript.Load(t.Context(), client).Err())
		var all []order.ReserveRequest
		for user := range int64(each) {
			all = append(all, one.claim(user+1, "r"+strconv.Itoa(int(user))), two.claim(user+1, "r"+strconv.Itoa(int(user))))
		}
		got := one.Reserve(t.Context(), all)
		require.Equal(t, 2, m.calls["reserve"]+m.calls[readAll], "one pipeline, and one to see that all is sold")
		var held []order.Hold
		for i, r := range got {
			if i/2 >= each-7 && i%2 == 1 {
				require.ErrorIs(t, r.Err, coupon.ErrSoldOut, "member %d", i)
				continue
			}
			require.NoError(t, r.Err, "member %d", i)
			require.Equal(t, hold(all[i], all[i].OrderID, coupon.Home(all[i].UserID, all[i].Shards)), r.Hold)
			held = append(held, r.Hold)
		}
		require.Len(t, one.openHolds(2), each)
		require.NoError(t, errors.Join(one.Confirm(t.Context(), held[:each])...))
		require.NoError(t, errors.Join(one.Release(t.Context(), held[each:])...))
		require.Empty(t, one.openHolds(2))
		require.Empty(t, two.openHolds(1))
		require.False(t, one.SoldOut(two.load.CouponID, two.load.Epoch), "units came back")
	})
}

// A failure of one shard concerns its members only.
func TestConfirm_OneShardFails_OthersSucceed(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 30, 3)
		held := s.holdsOf(s.many(s.at(0, 0), s.at(1, 0), s.at(2, 0)))
		holds := tag(s.load.CouponID, 1) + "holds"
		require.NoError(t, s.client.Rename(t.Context(), holds, holds+"-away").Err())
		require.NoError(t, s.client.Set(t.Context(), holds, "no hash", 0).Err())
		s.requireOutcomes(s.Confirm(t.Context(), held), nil, order.ErrFallback, nil)
		require.NoError(t, s.client.Rename(t.Context(), holds+"-away", holds).Err())
		require.NoError(t, errors.Join(s.Confirm(t.Context(), held)...))
		require.Empty(t, s.openHolds(3))
	})
}

func TestBatch_LentHolds_EndOnBothShards(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 6, 2)
		own := s.holdsOf(s.many(s.at(0, 0), s.at(0, 1), s.at(0, 2)))
		sold, back := s.buy(s.at(0, 3)), s.buy(s.at(0, 4))
		require.Equal(t, 1, sold.Shard)
		require.NoError(t, errors.Join(s.Confirm(t.Context(), []order.Hold{sold, own[0]})...))
		require.NoError(t, errors.Join(s.Release(t.Context(), []order.Hold{own[1], back})...))
		s.wants(1, 1, 2)
		require.Len(t, s.openHolds(2), 1)
		require.Equal(t, "1", s.field(0, "buyers", sold.UserID))
		require.Empty(t, s.field(0, "open", back.UserID))
	})
}

// A request that arrives after its order was confirmed finds that order, with a key or without one.
func TestReserve_AfterItsConfirmation_TakesNoUnit(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 10, 2)
		s.limit = 5
		all := []order.ReserveRequest{s.claim(1, "r77"), s.claim(2, "kfade"), s.claim(3, "r78")}
		require.NoError(t, errors.Join(s.Confirm(t.Context(), s.holdsOf(s.Reserve(t.Context(), all)))...))
		s.requireOutcomes(refusalsOf(s.Reserve(t.Context(), all)), order.ErrDuplicate, order.ErrDuplicate, order.ErrDuplicate)
		require.Empty(t, s.openHolds(2))
	})
}

// An evicted or lost key in the middle of a sale closes its shard, and no other, and nothing
// that is done for many opens it.
func TestBatch_CounterLost_DoesNotOpenShard(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 10, 2)
		held := s.holdsOf(s.many(s.at(0, 0), s.at(1, 0), s.at(0, 1)))
		counter := tag(s.load.CouponID, 0) + "stock"
		require.NoError(t, s.client.Del(t.Context(), counter).Err())
		s.requireOutcomes(refusalsOf(s.many(s.at(0, 2), s.at(1, 1))), coupon.ErrNotLoaded, nil)
		require.NoError(t, errors.Join(s.Release(t.Context(), held)...))
		require.Zero(t, s.client.Exists(t.Context(), counter).Val())
		s.requireLoaded(false)
	})
}

func TestBatch_OlderEpoch_ChangesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 10, 2)
		held := s.holdsOf(s.many(s.at(0, 0), s.at(1, 0)))
		old := s.claim(s.at(0, 1), "old")
		s.load.Epoch++
		require.NoError(t, s.Load(t.Context(), s.load))
		s.requireOutcomes(refusalsOf(s.Reserve(t.Context(), []order.ReserveRequest{old, s.claim(s.at(0, 2), "new")})), order.ErrStaleEpoch, nil)
		require.NoError(t, errors.Join(s.Confirm(t.Context(), held[:1])...))
		require.NoError(t, errors.Join(s.Release(t.Context(), held[1:])...))
		s.wants(1, 4, 5)
	})
}

// The keys of a shard disappear when its sale is freed, and not earlier.
func TestShardKeys_Every_HaveNoTTL(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 10, 1)
		held := s.holdsOf(s.many(1, 2))
		for _, err := range s.Confirm(t.Context(), held[:1]) {
			require.NoError(t, err)
		}
		for _, key := range s.keys(s.load.CouponID, 0, len(keySuffixes)) {
			require.Equal(t, time.Duration(-1), s.client.PTTL(t.Context(), key).Val(), key)
		}
	})
}

// The largest run of a script takes less than 5 ms of its server's CPU time. The server's own figure is smaller
// than the wall clock on a busy machine.
func TestBatchScripts_ManyMembers_BlockServerBriefly(t *testing.T) {
	s := open(t, dial(t, redisconn.Options{Addrs: []string{testservers.NewRedis(t).Addr()}}), coupon.MaxStock, 1)
	busy := func(do func()) time.Duration {
		used := func() time.Duration {
			info, err := s.client.Info(t.Context(), "cpu").Result()
			require.NoError(t, err)
			total := 0.0
			for _, kind := range []string{"used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"} {
				_, rest, found := strings.Cut(info, kind)
				require.True(t, found)
				text, _, _ := strings.Cut(rest, "\r")
				seconds, err := strconv.ParseFloat(text, 64)
				require.NoError(t, err)
				total += seconds
			}
			return time.Duration(total * float64(time.Second))
		}
		before := used()
		do()
		return used() - before
	}
	for name, queued := range map[string]bool{"at once": false, "queued": true} {
		least := map[string]time.Duration{}
		note := func(script string, took time.Duration) {
			if was, has := least[script]; !has || took < was {
				least[script] = took
			}
		}
		for range 20 {
			all := make([]order.ReserveRequest, maxMembers)
			for i := range all {
				all[i] = s.claim(lastID.Add(1), "k"+strings.Repeat("f", 32)+s.request())
				if queued {
					all[i].Enqueue = &order.Order{ID: all[i].OrderID, UserID: all[i].UserID, RequestID: all[i].RequestID}
					all[i].QueueCapacity, all[i].QueueMaxAge = coupon.MaxStock, time.Second
				}
			}
			var got []order.Reservation
			note("reserve", busy(func() { got = s.Reserve(t.Context(), all) }))
			held := s.holdsOf(got)
			note("release", busy(func() { s.Release(t.Context(), held) }))
			held = s.holdsOf(s.Reserve(t.Context(), all))
			note("confirm", busy(func() { s.Confirm(t.Context(), held) }))
		}
		t.Logf("%d members %s: %v", maxMembers, name, least)
		for script, took := range least {
			require.Less(t, took, 5*time.Millisecond, "%s of %d members", script, maxMembers)
		}
	}
}
