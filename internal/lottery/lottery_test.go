package lottery_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

// enter gives users tickets, and returns those by user.
func enter(t *testing.T, s *instance, c coupon.Coupon, users ...int64) map[int64]order.Order {
	t.Helper()
	tickets := map[int64]order.Order{}
	for _, user := range users {
		tickets[user] = place(t, s, apptest.Request(c, user, "k"), lottery.Entered)
	}
	return tickets
}

// draw draws with the workers of all instances at work, until the draw has ended.
func draw(t *testing.T, s shop, c coupon.Coupon, all ...*instance) {
	t.Helper()
	consuming(t, s, func() bool {
		ended, err := all[0].RunDraw(context.Background(), c)
		return err == nil && ended
	}, all...)
	seen(t, c, all...)
}

// seen waits until all instances have seen that the draw has ended: they read it again after a moment.
func seen(t *testing.T, c coupon.Coupon, all ...*instance) {
	t.Helper()
	for _, one := range all {
		require.Eventually(t, func() bool {
			d, _, err := one.ReadDraw(t.Context(), c.ID)
			return err == nil && !d.EndedAt.IsZero()
		}, patient, soon)
	}
}

// byRank returns the users in the order in which they are drawn.
func byRank(t *testing.T, s *instance, c coupon.Coupon, users []int64) []int64 {
	t.Helper()
	d, _, err := s.ReadDraw(t.Context(), c.ID)
	require.NoError(t, err)
	users = slices.Clone(users)
	slices.SortFunc(users, func(a, b int64) int {
		x, y := d.Rank(a), d.Rank(b)
		return bytes.Compare(x[:], y[:])
	})
	return users
}

// requireDrawn compares the result of each ticket with the ranks.
func requireDrawn(t *testing.T, s *instance, c coupon.Coupon, tickets map[int64]order.Order, winners int) {
	t.Helper()
	users := make([]int64, 0, len(tickets))
	for user := range tickets {
		users = append(users, user)
	}
	for i, user := range byRank(t, s, c, users) {
		want := lottery.NotDrawn
		if i < winners {
			want = order.Pending
		}
		o, err := s.Get(t.Context(), tickets[user].ID, user)
		require.NoError(t, err)
		require.Equal(t, want, o.Status, "rank %d of %d", i, len(users))
	}
}

func users(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i) + 1
	}
	return all
}

func TestLottery_Winners_HaveTheSmallestRanks(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		here, elsewhere := s.drawing("here"), s.drawing("elsewhere")
		before, drawsAt, err := elsewhere.ReadDraw(t.Context(), c.ID)
		require.NoError(t, err)
		tickets := enter(t, here, c, users(40)...)
		require.Equal(t, drawsAt.Add(apptest.PaymentTimeout), tickets[1].ExpiresAt)
		again := place(t, elsewhere, apptest.Request(c, 7, "k"), lottery.Entered)
		require.Equal(t, tickets[7].ID, again.ID)
		_, err = elsewhere.Place(t.Context(), apptest.Request(c, 7, "another key"))
		require.ErrorIs(t, err, order.ErrLimitReached, "a second tap is a second chance")
		shown, err := elsewhere.Get(t.Context(), tickets[7].ID, 7)
		require.NoError(t, err)
		require.Equal(t, lottery.Entered, shown.Status)
		require.Equal(t, drawsAt.Add(apptest.PaymentTimeout), shown.ExpiresAt)
		at, err := elsewhere.DrawsAt(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, drawsAt, at)
		_, err = here.Get(t.Context(), tickets[7].ID, 8)
		require.ErrorIs(t, err, order.ErrNotFound, "somebody else's")

		require.False(t, here.DrawDue(c))
		ended, err := here.RunDraw(t.Context(), c)
		require.NoError(t, err)
		require.False(t, ended, "before its time")
		s.Later(window)
		require.True(t, here.DrawDue(c))
		require.NoError(t, s.DB.Begin(t.Context(), c.ID, time.Now()))
		time.Sleep(200 * time.Millisecond) // it is read again
		_, err = elsewhere.Place(t.Context(), apptest.Request(c, 41, "late"))
		require.ErrorIs(t, err, order.ErrOverloaded, "nobody comes before a ticket")
		ended, err = here.RunDraw(t.Context(), c)
		require.NoError(t, err)
		require.False(t, ended, "its winners have no rows yet")

		draw(t, s, c, here, elsewhere)
		requireDrawn(t, elsewhere, c, tickets, 2*shards)
		after, _, err := elsewhere.ReadDraw(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, before.Seed, after.Seed)
		sum := sha256.Sum256(after.Seed)
		require.Equal(t, hex.EncodeToString(sum[:]), before.SeedHash())
		last := after.Rank(byRank(t, here, c, users(40))[2*shards-1])
		require.Equal(t, []any{int64(40), int64(2 * shards), hex.EncodeToString(last[:])}, []any{after.Entrants, after.Winners, after.LastRank})
		require.Equal(t, sha256.Sum256([]byte(string(after.Seed)+"7")), after.Rank(7), "as the contract says")
		report := s.RequireConsistent(t, c, 2*shards)
		require.Contains(t, report.Invariants[len(report.Invariants)-1].Detail, "8 of 40 tickets drawn, 0 passed over")

		_, err = here.Place(t.Context(), apptest.Request(c, 41, "late"))
		require.ErrorIs(t, err, coupon.ErrSoldOut)
		won := byRank(t, here, c, users(40))[0]
		theirs, err := here.Get(t.Context(), tickets[won].ID, won)
		require.NoError(t, err)
		_, err = s.Service.Cancel(t.Context(), theirs.ID, won)
		require.NoError(t, err)
		require.Eventually(t, func() bool { // first come, first served from now on
			o, err := here.Place(t.Context(), apptest.Request(c, 41, "later"))
			return err == nil && o.Status == order.Queued
		}, patient, soon)
	})
}

func TestDraw_FewerTicketsThanUnits_ServesAll(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(3)...)
		s.Later(window)
		draw(t, s, c, here)
		requireDrawn(t, here, c, tickets, 3)
		o, err := here.Place(t.Context(), apptest.Request(c, 9, "k"))
		require.NoError(t, err)
		require.Equal(t, order.Queued, o.Status)
	})
}

// The same users are drawn, whichever of several instances draws, and however often.
func TestDraw_SeveralInstances_DrawOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) { drawnByThree(t, s, 120, 5*shards) })
}

// While there are units for all of them, many winners are queued at once.
func TestDraw_ManyWinners_AreServedBySeveralInstances(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) { drawnByThree(t, s, 300, 65*shards) })
}

func drawnByThree(t *testing.T, s shop, entrants, units int) {
	t.Helper()
	c := s.Sell(t, int64(units), 1)
	all := []*instance{s.drawing("a"), s.drawing("b"), s.drawing("c")}
	tickets := enter(t, all[0], c, users(entrants)...)
	s.Later(window)
	ctx, stop := context.WithCancel(t.Context())
	var drawing sync.WaitGroup
	for _, one := range all {
		drawing.Go(func() {
			for ctx.Err() == nil {
				if ended, err := one.RunDraw(ctx, c); err == nil && ended {
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	draw(t, s, c, all...)
	stop()
	drawing.Wait()
	requireDrawn(t, all[1], c, tickets, units)
	s.RequireConsistent(t, c, int64(units))
}

func TestRunDraws_TimeHasCome_DrawsEachSaleOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		all := []*instance{s.drawing("a"), s.drawing("b")}
		tickets := enter(t, all[0], c, users(30)...)
		s.Later(window)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, one := range all {
			running.Go(func() {
				one.RunDraws(ctx, lottery.Schedule{
					Every: soon, Known: func() []coupon.Coupon { return []coupon.Coupon{c} }, Locker: s.Locker(t, patient),
					OnFailure: func(err error) { assert.NoError(t, err) },
				})
			})
		}
		consuming(t, s, func() bool { return !all[0].DrawDue(c) && !all[1].DrawDue(c) }, all...)
		stop()
		running.Wait()
		requireDrawn(t, all[1], c, tickets, 2*shards)
		s.RequireConsistent(t, c, 2*shards)
	})
}

func TestRunDraws_PassFails_ReportsTheError(t *testing.T) {
	s := open(t)
	c := s.Sell(t, 2*shards, 1)
	here := s.drawing("here")
	enter(t, here, c, users(9)...)
	s.Later(window)
	_, err := s.Coupons.Reload(t.Context(), c.ID) // c is from before
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	failures := make(chan error)
	var running sync.WaitGroup
	running.Go(func() {
		here.RunDraws(ctx, lottery.Schedule{
			Every: soon, Locker: s.Locker(t, patient), Known: func() []coupon.Coupon { return []coupon.Coupon{c} },
			OnFailure: func(err error) {
				select {
				case failures <- err:
				case <-ctx.Done():
				}
			},
		})
	})
	for range 2 {
		select {
		case err := <-failures:
			require.ErrorIs(t, err, order.ErrStaleEpoch)
		case <-time.After(patient):
			require.Fail(t, "no pass reported its error")
		}
	}
	stop()
	running.Wait()
}

// A ticket that an instance has seen is not told from memory when its sale may be in the archive.
func TestTicket_SaleEnds_IsDeleted(t *testing.T) {
	s := open(t)
	c := s.Sell(t, shards, 1)
	here := s.drawing("here")
	tickets := enter(t, here, c, 1)
	s.Later(window)
	draw(t, s, c, here)
	requireDrawn(t, here, c, tickets, 1)
	for _, table := range []string{"orders", "lottery_entrants"} {
		_, err := s.Raw.ExecContext(t.Context(), "DELETE FROM "+table)
		require.NoError(t, err)
	}
	s.Later(time.Until(c.EndsAt) + coupon.Retention + time.Hour)
	_, err := here.Get(t.Context(), tickets[1].ID, 1)
	require.ErrorIs(t, err, order.ErrNotFound)
}

// The draw queues the orders again that were lost with Redis: the tickets are in the database.
func TestDraw_RedisLost_Survives(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(30)...)
		s.Later(window)
		ended, err := here.RunDraw(t.Context(), c)
		require.NoError(t, err)
		require.False(t, ended)
		c = s.flush(t, c)
		require.Zero(t, s.Waiting(t, c).Entries)
		draw(t, s, c, here)
		requireDrawn(t, here, c, tickets, 2*shards)
		s.RequireConsistent(t, c, 2*shards)
	})
}

// A database that is set back while tickets are drawn has other rows than it had, and may have other tickets.
func TestDraw_DatabaseDiffersFromRedis_FollowsDatabase(t *testing.T) {
	for name, lost := range map[string][]string{
		"rows are lost":           {"DELETE FROM orders", "UPDATE coupons SET stock = total", "UPDATE lottery_draws SET decided_ranks = 0"},
		"so is that it has begun": {"DELETE FROM orders", "UPDATE coupons SET stock = total", "UPDATE lottery_draws SET begun_at = NULL, decided_ranks = 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			c := s.Sell(t, 3, 1)
			here := s.drawing("here")
			tickets := enter(t, here, c, users(9)...)
			s.Later(window)
			ranks := byRank(t, here, c, users(9))
			again := func() {
				t.Helper()
				ended, err := here.RunDraw(t.Context(), c)
				require.NoError(t, err)
				require.False(t, ended)
			}
			again()
			third := lock.UserKey(ranks[2]) // whose order has to wait
			require.NoError(t, s.Locker(t, 0).Do(t.Context(), third, func(context.Context, *lock.Lease) error {
				consuming(t, s, func() bool {
					for _, user := range ranks[:2] {
						if o, err := here.Get(t.Context(), tickets[user].ID, user); err != nil || o.Status != order.Pending {
							return false
						}
					}
					return true
				}, here)
				return nil
			}))
			again() // the first two have rows
			for _, statement := range lost {
				_, err := s.Raw.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			c = s.flush(t, c) // and Redis is loaded from what is left
			if name != "rows are lost" {
				time.Sleep(200 * time.Millisecond) // it is read again
				maps.Copy(tickets, enter(t, here, c, 10, 11, 12, 13, 14, 15, 16, 17, 18))
			}
			draw(t, s, c, here)
			requireDrawn(t, here, c, tickets, 3)
			s.RequireConsistent(t, c, 3)
		})
	}
}

// A full queue is waited for: who comes next in the draw may not be passed over.
func TestDraw_QueueFull_Waits(t *testing.T) {
	s := open(t)
	c := s.Sell(t, 5*shards, 1)
	here := s.drawing("here", func(p *order.Deps) { p.QueueCapacity = 1 })
	tickets := enter(t, here, c, users(60)...)
	s.Later(window)
	draw(t, s, c, here)
	requireDrawn(t, here, c, tickets, 5*shards)
}

func TestRunDraw_PausedSaleEnds_DrawsNone(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(10)...)
		s.Later(window)
		paused, err := s.Coupons.Pause(t.Context(), c.ID)
		require.NoError(t, err)
		ended, err := here.RunDraw(t.Context(), paused)
		require.NoError(t, err)
		require.False(t, ended)
		over, err := s.Coupons.Patch(t.Context(), c.ID, coupon.Change{End: true})
		require.NoError(t, err)
		ended, err = here.RunDraw(t.Context(), over)
		require.NoError(t, err)
		require.False(t, ended, "what was queued may be served yet")
		s.Later(window + time.Minute)
		ended, err = here.RunDraw(t.Context(), over)
		require.NoError(t, err)
		require.True(t, ended)
		seen(t, c, here)
		requireDrawn(t, here, c, tickets, 0)
		s.RequireConsistent(t, over, 0)
	})
}

// The draw begins while tickets are given: each that was given takes part.
func TestTicket_EveryIssued_TakesPart(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 1000, 1)
		here := s.drawing("here")
		_, _, err := here.ReadDraw(t.Context(), c.ID)
		require.NoError(t, err)
		var mu sync.Mutex
		var given []int64
		var entering sync.WaitGroup
		for i := range 8 {
			entering.Go(func() {
				for n := range 40 {
					user := int64(1000*(i+1) + n)
					_, err := s.DB.Enter(context.Background(), order.Order{
						ID: user, CouponID: c.ID, UserID: user, RequestID: "r" + strconv.FormatInt(user, 10), CreatedAt: time.Now(),
					})
					if err == nil {
						mu.Lock()
						given = append(given, user)
						mu.Unlock()
					}
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		require.NoError(t, s.DB.Begin(t.Context(), c.ID, time.Now()))
		taking, err := s.DB.EntrantIDs(t.Context(), c.ID, 0, 1000)
		require.NoError(t, err)
		entering.Wait()
		slices.Sort(given)
		require.Equal(t, given, taking)
	})
}

// A buyer with a void request got nothing, and so has passed over no other buyer.
func TestLotteryAudit_VoidRequest_CountsNonePassedOver(t *testing.T) {
	s := open(t)
	c := s.Sell(t, 2*shards, 1)
	here := s.drawing("here")
	enter(t, here, c, users(30)...)
	s.Later(window)
	draw(t, s, c, here)
	s.RequireConsistent(t, c, 2*shards)
	d, err := s.DB.Draw(t.Context(), c.ID)
	require.NoError(t, err)
	last := slices.MaxFunc(users(30), func(a, b int64) int {
		x, y := d.Rank(a), d.Rank(b)
		return bytes.Compare(x[:], y[:])
	})
	tickets, err := s.DB.Entrants(t.Context(), c.ID, []int64{last})
	require.NoError(t, err)
	void := tickets[last].Order
	void.ID = 1
	require.NoError(t, s.DB.Void(t.Context(), void))
	report, err := s.Auditor.Audit(t.Context(), c.ID)
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	require.Contains(t, report.Invariants[len(report.Invariants)-1].Detail, "9 of 30 tickets drawn, 0 passed over, 8 of 30 noted")

	s.Exec(t, "UPDATE orders SET status = 'cancelled' WHERE id = 1")
	report, err = s.Auditor.Audit(t.Context(), c.ID)
	require.NoError(t, err)
	require.Contains(t, report.Violations[len(report.Violations)-1], "21 passed over", "it has had an order")
}

// An audit notices who was passed over, who was not drawn and has an order, and a ticket from after the draw.
func TestAudit_DrawIgnoredRanks_ReportsViolation(t *testing.T) {
	for name, break_ := range map[string]string{
		"passed over":        "UPDATE lottery_draws SET seed = REVERSE(seed)",
		"a ticket too many":  "INSERT INTO lottery_entrants VALUES (1, 99, 99, 'r99', UTC_TIMESTAMP())",
		"a ticket less":      "DELETE FROM lottery_entrants WHERE user_id = 5",
		"another last rank":  "UPDATE lottery_draws SET last_rank = REPEAT('f', 64)",
		"a row that is gone": "DELETE FROM orders ORDER BY id LIMIT 1",
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			c := s.Sell(t, 2*shards, 1)
			here := s.drawing("here")
			enter(t, here, c, users(30)...)
			s.Later(window)
			draw(t, s, c, here)
			s.RequireConsistent(t, c, 2*shards)
			s.Exec(t, break_)
			report, err := s.Auditor.Audit(t.Context(), c.ID)
			require.NoError(t, err)
			require.Contains(t, report.Violations[len(report.Violations)-1], "I12")
		})
	}
}

// raise raises the stock of a sale to the given number of units.
func raise(t *testing.T, s shop, c coupon.Coupon, units int64) {
	t.Helper()
	_, err := s.Coupons.Patch(t.Context(), c.ID, coupon.Change{Total: &units})
	require.NoError(t, err)
}

func TestRaise_BeforeTheDraw_DrawsMoreTickets(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		here, elsewhere := s.drawing("here"), s.drawing("elsewhere")
		tickets := enter(t, here, c, users(40)...)
		raise(t, s, c, 3*shards)
		s.Later(window)
		draw(t, s, c, here, elsewhere)
		requireDrawn(t, elsewhere, c, tickets, 3*shards)
		s.RequireConsistent(t, c, 3*shards)
	})
}

func TestRaise_DrawHasBegun_TheNextRanksGetTheUnits(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		here, elsewhere := s.drawing("here"), s.drawing("elsewhere")
		tickets := enter(t, here, c, users(40)...)
		s.Later(window)
		ended, err := here.RunDraw(t.Context(), c)
		require.NoError(t, err)
		require.False(t, ended, "its winners have no rows yet")
		raise(t, s, c, 3*shards)
		draw(t, s, c, here, elsewhere)
		requireDrawn(t, elsewhere, c, tickets, 3*shards)
		s.RequireConsistent(t, c, 3*shards)
	})
}

func TestRaise_DrawHasEnded_FirstComeFirstServed(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(40)...)
		s.Later(window)
		draw(t, s, c, here)
		losers := byRank(t, here, c, users(40))[2*shards:]
		raise(t, s, c, 2*shards+3)
		place(t, here, apptest.Request(c, 99, "k"), order.Queued)
		place(t, here, apptest.Request(c, losers[len(losers)-1], "another key"), order.Queued)
		_, err := here.Place(t.Context(), apptest.Request(c, losers[5], "k"))
		require.ErrorIs(t, err, order.ErrVoided, "that request has lost, and would pass over others")
		consuming(t, s, s.Drained(t, c), here)
		report, err := s.Auditor.Audit(t.Context(), c.ID)
		require.NoError(t, err)
		require.Empty(t, report.Violations)
		o, err := here.Get(t.Context(), tickets[losers[5]].ID, losers[5])
		require.NoError(t, err)
		require.Equal(t, lottery.NotDrawn, o.Status)
		again, err := here.Place(t.Context(), apptest.Request(c, losers[len(losers)-1], "another key"))
		require.NoError(t, err, "a ticket of another request keeps no buyer away")
		require.Equal(t, order.Pending, again.Status)
	})
}
