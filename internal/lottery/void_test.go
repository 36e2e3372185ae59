package lottery_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

// The workers come long after an entry of a race would be too old, and the reconciler comes before them.
func TestDraw_WorkersComeLate_WinnersAreThoseOfTheRanks(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		const units = 5 * shards
		c := s.Sell(t, units, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(60)...)
		s.Later(window)
		ended, err := here.RunDraw(t.Context(), c)
		require.NoError(t, err)
		require.False(t, ended)
		n, err := s.Reconciler.Reconcile(t.Context(), c, 0)
		require.NoError(t, err)
		require.Zero(t, n, "holds of queued winners")
		s.Later(window + apptest.MaxAge + time.Hour)
		draw(t, s, c, here)
		requireDrawn(t, here, c, tickets, units)
		report := s.RequireConsistent(t, c, units)
		require.Zero(t, report.Voids)
		o, err := here.Get(t.Context(), tickets[byRank(t, here, c, users(60))[0]].ID, byRank(t, here, c, users(60))[0])
		require.NoError(t, err)
		require.WithinDuration(t, s.Now().Add(apptest.PaymentTimeout), o.ExpiresAt, apptest.Patient, "the whole time to pay")
	})
}

// After the end of the sale an old entry is refused like any other.
func TestDraw_WorkersComeAfterTheSale_RefuseOldEntries(t *testing.T) {
	s := open(t)
	c := s.Sell(t, shards, 1)
	here := s.drawing("here")
	enter(t, here, c, users(9)...)
	s.Later(window)
	_, err := here.RunDraw(t.Context(), c)
	require.NoError(t, err)
	s.Later(time.Until(c.EndsAt) + time.Minute)
	consuming(t, s, s.Drained(t, c), here)
	s.RequireConsistent(t, c, 0)
}

// giveUp voids the current attempt of a user's ticket. The unit of the attempt is not back yet.
func (s shop) giveUp(t *testing.T, c coupon.Coupon, user int64) {
	t.Helper()
	found, err := s.DB.Entrants(t.Context(), c.ID, []int64{user})
	require.NoError(t, err)
	o := found[user].Order
	o.ID, o.RequestID = 1_000_000+10*user+int64(found[user].Attempt), found[user].RequestID()
	require.NoError(t, s.DB.Void(t.Context(), o))
}

// Another instance may go on with the draw. It has served no ticket.
func TestDraw_WinnersAreVoid_ServesThemAgainBeforeLaterRanks(t *testing.T) {
	for _, next := range []string{"here", "there"} {
		t.Run(next, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s shop) { serveVoidAgain(t, s, next) })
		})
	}
}

func serveVoidAgain(t *testing.T, s shop, next string) {
	const units = 5 * shards
	c := s.Sell(t, units, 2) // with a limit of 1 the open hold of a void attempt keeps the user busy
	all := map[string]*instance{"here": s.drawing("here"), "there": s.drawing("there")}
	tickets := enter(t, all["here"], c, users(60)...)
	s.Later(window)
	_, err := all["here"].RunDraw(t.Context(), c)
	require.NoError(t, err)
	ranks := byRank(t, all["here"], c, users(60))
	for _, at := range []int{0, 7, 7, units - 1} { // of rank 7 the second attempt too
		s.giveUp(t, c, ranks[at])
	}
	ended, err := all[next].RunDraw(t.Context(), c)
	require.NoError(t, err)
	require.False(t, ended, "the units of void tickets are on their way back")
	draw(t, s, c, all[next])
	requireDrawn(t, all[next], c, tickets, units)
	report := s.RequireConsistent(t, c, units)
	require.Contains(t, report.Invariants[len(report.Invariants)-1].Detail, "20 of 60 tickets drawn, 0 passed over")
	for _, at := range []int{0, 7} {
		want, err := all[next].Get(t.Context(), tickets[ranks[at]].ID, ranks[at])
		require.NoError(t, err)
		again, err := all[next].Place(t.Context(), apptest.Request(c, ranks[at], "k"))
		require.NoError(t, err, "the same key")
		require.Equal(t, want.ID, again.ID)
	}
}

// A user who bought before the draw gets no second unit, and the draw skips no user because of that.
func TestDraw_WinnerHasBoughtAlready_IsVoidAndEndsTheDraw(t *testing.T) {
	s := open(t)
	c := s.Sell(t, 2*shards, 1)
	here := s.drawing("here")
	_, err := s.Service.Place(t.Context(), apptest.Request(c, 5, "before"))
	require.NoError(t, err)
	enter(t, here, c, 1, 2, 3)
	_, err = s.DB.Enter(t.Context(), order.Order{ID: 500, CouponID: c.ID, UserID: 5, RequestID: "r500", CreatedAt: time.Now()})
	require.NoError(t, err)
	s.Later(window)
	draw(t, s, c, here)
	report := s.RequireConsistent(t, c, 4)
	require.EqualValues(t, 1, report.Voids, "it is not served again")
	o, err := here.Get(t.Context(), 500, 5)
	require.NoError(t, err)
	require.Equal(t, order.Void, o.Status)
}

func TestAudit_VoidTicketBeforeOneThatWasServed_IsViolated(t *testing.T) {
	s := open(t)
	c := s.Sell(t, 2*shards, 1)
	here := s.drawing("here")
	enter(t, here, c, users(30)...)
	s.Later(window)
	draw(t, s, c, here)
	s.RequireConsistent(t, c, 2*shards)
	s.Exec(t, "UPDATE orders SET status = 'void', slot = NULL WHERE user_id = ?", byRank(t, here, c, users(30))[0])
	report, err := s.Auditor.Audit(t.Context(), c.ID)
	require.NoError(t, err)
	require.Contains(t, report.Violations[len(report.Violations)-1], "I12: a draw is served in the order of its ranks: "+
		"8 of 30 tickets drawn, 1 passed over, 8 of 30 noted")
}

func TestNewEntrant_RowsOfTheUser_NamesTheAttempt(t *testing.T) {
	ticket := order.Order{CouponID: 7, RequestID: "k"}
	for name, test := range map[string]struct {
		rows   map[string]order.Status
		taken  bool
		want   lottery.Entrant
		id     string
		passed bool // with a limit of 1
	}{
		"no row": {id: "k", want: lottery.Entrant{Attempt: 1}, passed: true},
		"order":  {rows: map[string]order.Status{"k": order.Paid}, id: "k", want: lottery.Entrant{Attempt: 1, Sold: true}},
		"void":   {rows: map[string]order.Status{"k": order.Void}, id: "k-7-2", want: lottery.Entrant{Attempt: 2, Void: true}, passed: true},
		"void and order": {
			rows: map[string]order.Status{"k": order.Void, "k-7-2": order.Expired}, id: "k-7-2",
			want: lottery.Entrant{Attempt: 2, Sold: true},
		},
		"key of another coupon": {taken: true, id: "k-7-2", want: lottery.Entrant{Attempt: 2}, passed: true},
		"another order":         {rows: map[string]order.Status{"x": order.Paid, "y": order.Void}, id: "k", want: lottery.Entrant{Attempt: 1, Others: 1}, passed: true},
		"void beside another order": {
			rows: map[string]order.Status{"x": order.Paid, "k": order.Void}, id: "k-7-2",
			want: lottery.Entrant{Attempt: 2, Void: true, Others: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := lottery.NewEntrant(ticket, test.rows, test.taken)
			require.Equal(t, test.id, got.RequestID())
			require.Equal(t, test.passed, got.PassedOver(1))
			got.Order = order.Order{}
			require.Equal(t, test.want, got)
		})
	}
	gone := map[string]order.Status{"k": order.Void}
	for range 8 {
		gone[lottery.NewEntrant(ticket, gone, false).RequestID()] = order.Void
	}
	e := lottery.NewEntrant(ticket, gone, false)
	require.True(t, e.Decided(1), "it is given up")
	require.True(t, e.PassedOver(1))
}

// A Redis that came back with old data counts units that are sold.
func TestDraw_RedisCountsTooManyUnits_SellsTheDatabasesUnitsByRank(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		const units = 5 * shards
		c := s.Sell(t, units, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(60)...)
		for shard := range shards {
			key := fmt.Sprintf("seckill:{%d:%d}:stock", c.ID, shard)
			require.NoError(t, s.Redis.IncrBy(t.Context(), key, 5).Err())
		}
		s.Later(window)
		draw(t, s, c, here)
		requireDrawn(t, here, c, tickets, units)
		report, err := s.Auditor.Audit(t.Context(), c.ID)
		require.NoError(t, err)
		require.Contains(t, report.Invariants[len(report.Invariants)-1].Detail, "20 of 60 tickets drawn, 0 passed over")
	})
}

// late are draws of which the units are read only after something has happened.
type late struct {
	lottery.Draws

	before func()
}

func (l late) UnitsLeft(ctx context.Context, couponID int64) (int64, error) {
	l.before()
	return l.Draws.UnitsLeft(ctx, couponID)
}

// forgetOrders sets Redis back to the time before the orders. It knows none of them, and has five more units in each
// shard.
func (s shop) forgetOrders(t *testing.T, c coupon.Coupon) {
	t.Helper()
	for shard := range shards {
		key := fmt.Sprintf("seckill:{%d:%d}:", c.ID, shard)
		for _, known := range []string{key + "requests", key + "buyers"} {
			fields := slices.Sorted(maps.Keys(s.Redis.HGetAll(t.Context(), known).Val()))
			fields = slices.DeleteFunc(fields, func(f string) bool { return f == "epoch" })
			if len(fields) > 0 {
				require.NoError(t, s.Redis.HDel(t.Context(), known, fields...).Err())
			}
		}
		require.NoError(t, s.Redis.IncrBy(t.Context(), key+"stock", 5).Err())
	}
}

// An instance goes on with the draw of another one. The workers commit every order after the instance has read the
// rows, and Redis comes back with old data that knows no order.
func TestDraw_LastUnitsAreSoldAfterTheRowsWereRead_CountsTheirRanks(t *testing.T) {
	s := open(t)
	const units = 5 * shards
	c := s.Sell(t, units, 1)
	here := s.drawing("here")
	enter(t, here, c, users(60)...)
	s.Later(window)
	_, err := here.RunDraw(t.Context(), c)
	require.NoError(t, err)
	var once sync.Once
	p := s.QueueDeps("there")
	there := &instance{orders: order.NewService(p)}
	there.Service = lottery.New(lottery.Deps{
		Orders: there.orders, Rows: p.DB, Sales: p.Sales, Stock: p.Shards, Queues: s.Stock,
		Window: window, PaymentTimeout: p.PaymentTimeout, Now: p.Now, Log: p.Log,
		Draws: late{s.DB, func() {
			once.Do(func() {
				consuming(t, s, s.Drained(t, c), here)
				s.forgetOrders(t, c)
			})
		}},
	})
	for range 10 {
		if ended, err := there.RunDraw(t.Context(), c); err == nil && ended {
			break
		}
	}
	d, err := s.DB.Draw(t.Context(), c.ID)
	require.NoError(t, err)
	require.False(t, d.EndedAt.IsZero())
	require.EqualValues(t, units, d.Winners)
}
