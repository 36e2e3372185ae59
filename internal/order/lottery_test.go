package order_test

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

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// A coupon of these tests began an hour ago, and its tickets are drawn in an hour.
const lotteryWindow = 2 * time.Hour

// drawing is another instance that queues, and draws the first buyers of a sale.
func (s *shop) drawing(name string) *order.Service {
	return s.queueing(name, func(p *order.Deps) { p.Lottery, p.LotteryWindow = s.db, lotteryWindow })
}

// enter gives users tickets, and returns those by user.
func enter(t *testing.T, s *order.Service, c coupon.Coupon, users ...int64) map[int64]order.Order {
	t.Helper()
	tickets := map[int64]order.Order{}
	for _, user := range users {
		tickets[user] = queued(t, s, c, user, "k")
		require.False(t, tickets[user].DrawsAt.IsZero())
	}
	return tickets
}

// draw draws with the workers of all instances at work, until the draw has ended.
func draw(t *testing.T, s *shop, c coupon.Coupon, all ...*order.Service) {
	t.Helper()
	consuming(t, s, func() bool {
		ended, err := all[0].RunDraw(context.Background(), c)
		return err == nil && ended
	}, all...)
	for _, one := range all { // which read it again after a moment
		require.Eventually(t, func() bool {
			d, _, err := one.ReadDraw(t.Context(), c.ID)
			return err == nil && !d.EndedAt.IsZero()
		}, patient, soon)
	}
}

// byRank returns the users in the order in which they are drawn.
func byRank(t *testing.T, s *order.Service, c coupon.Coupon, users []int64) []int64 {
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

// requireDrawn holds what each ticket has become against the ranks.
func requireDrawn(t *testing.T, s *order.Service, c coupon.Coupon, tickets map[int64]order.Order, winners int) {
	t.Helper()
	users := make([]int64, 0, len(tickets))
	for user := range tickets {
		users = append(users, user)
	}
	for i, user := range byRank(t, s, c, users) {
		want := order.NotDrawn
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

func TestTheFirstBuyersOfALotteryAreThoseWithTheSmallestRanks(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 2*shards, 1)
		here, elsewhere := s.drawing("here"), s.drawing("elsewhere")
		before, drawsAt, err := elsewhere.ReadDraw(t.Context(), c.ID)
		require.NoError(t, err)
		tickets := enter(t, here, c, users(40)...)
		require.Equal(t, drawsAt, tickets[1].DrawsAt)
		again := queued(t, elsewhere, c, 7, "k")
		require.Equal(t, tickets[7].ID, again.ID)
		_, err = elsewhere.Place(t.Context(), wish(c, 7, "another key"))
		require.ErrorIs(t, err, order.ErrLimitReached, "a second tap is a second chance")
		shown, err := elsewhere.Get(t.Context(), tickets[7].ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Queued, shown.Status)
		require.Equal(t, drawsAt, shown.DrawsAt)
		_, err = here.Get(t.Context(), tickets[7].ID, 8)
		require.ErrorIs(t, err, order.ErrNotFound, "somebody else's")

		require.False(t, here.DrawDue(c))
		ended, err := here.RunDraw(t.Context(), c)
		require.NoError(t, err)
		require.False(t, ended, "before its time")
		s.later(lotteryWindow)
		require.True(t, here.DrawDue(c))
		require.NoError(t, s.db.Begin(t.Context(), c.ID, time.Now()))
		time.Sleep(200 * time.Millisecond) // it is read again
		_, err = elsewhere.Place(t.Context(), wish(c, 41, "late"))
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
		report := s.atRest(t, c, 2*shards)
		require.Contains(t, report.Invariants[len(report.Invariants)-1].Detail, "8 of 40 tickets drawn, 0 passed over")

		_, err = here.Place(t.Context(), wish(c, 41, "late"))
		require.ErrorIs(t, err, coupon.ErrSoldOut)
		won := byRank(t, here, c, users(40))[0]
		theirs, err := here.Get(t.Context(), tickets[won].ID, won)
		require.NoError(t, err)
		_, err = s.Cancel(t.Context(), theirs.ID, won)
		require.NoError(t, err)
		require.Eventually(t, func() bool { // first come, first served from now on
			o, err := here.Place(t.Context(), wish(c, 41, "later"))
			return err == nil && o.DrawsAt.IsZero()
		}, patient, soon)
	})
}

func TestADrawOfFewerTicketsThanUnitsServesAll(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 2*shards, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(3)...)
		s.later(lotteryWindow)
		draw(t, s, c, here)
		requireDrawn(t, here, c, tickets, 3)
		o, err := here.Place(t.Context(), wish(c, 9, "k"))
		require.NoError(t, err)
		require.True(t, o.DrawsAt.IsZero())
	})
}

// Whoever of several instances draws, and however often, the same are drawn.
func TestSeveralInstancesDrawAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) { drawnByThree(t, s, 120, 5*shards) })
}

// While there are units for all of them, many winners are queued at once.
func TestManyWinnersAreDrawnBySeveralInstances(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) { drawnByThree(t, s, 300, 65*shards) })
}

func drawnByThree(t *testing.T, s *shop, entrants, units int) {
	t.Helper()
	c := s.sell(t, int64(units), 1)
	all := []*order.Service{s.drawing("a"), s.drawing("b"), s.drawing("c")}
	tickets := enter(t, all[0], c, users(entrants)...)
	s.later(lotteryWindow)
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
	s.atRest(t, c, int64(units))
}

// A ticket that an instance has seen is not told from memory when its sale may be in the archive.
func TestATicketIsForgottenWithItsSale(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	here := s.drawing("here")
	tickets := enter(t, here, c, 1)
	s.later(lotteryWindow)
	draw(t, s, c, here)
	requireDrawn(t, here, c, tickets, 1)
	for _, table := range []string{"orders", "lottery_entrants"} {
		_, err := s.raw.ExecContext(t.Context(), "DELETE FROM "+table)
		require.NoError(t, err)
	}
	s.later(time.Until(c.EndsAt) + coupon.Retention + time.Hour)
	_, err := here.Get(t.Context(), tickets[1].ID, 1)
	require.ErrorIs(t, err, order.ErrNotFound)
}

// What was queued and lost with Redis is queued again: a ticket is in the database.
func TestADrawOutlivesTheLossOfRedis(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 2*shards, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(30)...)
		s.later(lotteryWindow)
		ended, err := here.RunDraw(t.Context(), c)
		require.NoError(t, err)
		require.False(t, ended)
		s.flush(t)
		c = s.reload(t, c)
		require.Zero(t, s.waiting(t, c).Entries)
		draw(t, s, c, here)
		requireDrawn(t, here, c, tickets, 2*shards)
		s.atRest(t, c, 2*shards)
	})
}

// A database that is set back while tickets are drawn has other rows than it had, and may have other tickets.
func TestADrawGoesByTheDatabaseAsItIs(t *testing.T) {
	for name, lost := range map[string][]string{
		"rows are lost":           {"DELETE FROM orders", "UPDATE coupons SET stock = total"},
		"so is that it has begun": {"DELETE FROM orders", "UPDATE coupons SET stock = total", "UPDATE lottery_draws SET begun_at = NULL"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			c := s.sell(t, 3, 1)
			here := s.drawing("here")
			tickets := enter(t, here, c, users(9)...)
			s.later(lotteryWindow)
			ranks := byRank(t, here, c, users(9))
			again := func() {
				t.Helper()
				ended, err := here.RunDraw(t.Context(), c)
				require.NoError(t, err)
				require.False(t, ended)
			}
			again()
			third := lock.UserKey(ranks[2]) // whose order has to wait
			require.NoError(t, s.locker(t, 0).Do(t.Context(), third, func(context.Context, *lock.Lease) error {
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
				_, err := s.raw.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			s.flush(t) // and Redis is loaded from what is left
			c = s.reload(t, c)
			if len(lost) != 2 {
				time.Sleep(200 * time.Millisecond) // it is read again
				maps.Copy(tickets, enter(t, here, c, 10, 11, 12, 13, 14, 15, 16, 17, 18))
			}
			draw(t, s, c, here)
			requireDrawn(t, here, c, tickets, 3)
			s.atRest(t, c, 3)
		})
	}
}

// A full queue is waited for: who comes next in the draw may not be passed over.
func TestADrawWaitsForAFullQueue(t *testing.T) {
	s := open(t)
	c := s.sell(t, 5*shards, 1)
	here := s.queueing("here", func(p *order.Deps) {
		p.Lottery, p.LotteryWindow, p.QueueCapacity = s.db, lotteryWindow, 1
	})
	tickets := enter(t, here, c, users(60)...)
	s.later(lotteryWindow)
	draw(t, s, c, here)
	requireDrawn(t, here, c, tickets, 5*shards)
}

func TestASaleThatIsPausedIsDrawnWhenItGoesOnAndOneThatHasEndedDrawsNobody(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 2*shards, 1)
		here := s.drawing("here")
		tickets := enter(t, here, c, users(10)...)
		s.later(lotteryWindow)
		paused, err := s.coupons.Pause(t.Context(), c.ID)
		require.NoError(t, err)
		ended, err := here.RunDraw(t.Context(), paused)
		require.NoError(t, err)
		require.False(t, ended)
		over, err := s.coupons.Patch(t.Context(), c.ID, coupon.Change{End: true})
		require.NoError(t, err)
		ended, err = here.RunDraw(t.Context(), over)
		require.NoError(t, err)
		require.False(t, ended, "what was queued may be served yet")
		s.later(lotteryWindow + time.Minute)
		ended, err = here.RunDraw(t.Context(), over)
		require.NoError(t, err)
		require.True(t, ended)
		time.Sleep(200 * time.Millisecond) // it is read again
		requireDrawn(t, here, c, tickets, 0)
		s.atRest(t, over, 0)
	})
}

// The draw begins while tickets are given: each that was given takes part.
func TestEveryTicketThatWasGivenTakesPart(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 1000, 1)
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
					_, err := s.db.Enter(context.Background(), order.Order{
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
		require.NoError(t, s.db.Begin(t.Context(), c.ID, time.Now()))
		taking, err := s.db.EntrantIDs(t.Context(), c.ID, 0, 1000)
		require.NoError(t, err)
		entering.Wait()
		slices.Sort(given)
		require.Equal(t, given, taking)
	})
}

// A buyer with a void request got nothing, and so has passed over nobody.
func TestAVoidRequestPassesOverNobody(t *testing.T) {
	s := open(t)
	c := s.sell(t, 2*shards, 1)
	here := s.drawing("here")
	enter(t, here, c, users(30)...)
	s.later(lotteryWindow)
	draw(t, s, c, here)
	s.atRest(t, c, 2*shards)
	d, err := s.db.Draw(t.Context(), c.ID, nil)
	require.NoError(t, err)
	last := slices.MaxFunc(users(30), func(a, b int64) int {
		x, y := d.Rank(a), d.Rank(b)
		return bytes.Compare(x[:], y[:])
	})
	tickets, err := s.db.Entrants(t.Context(), c.ID, []int64{last})
	require.NoError(t, err)
	void := tickets[last].Order
	void.ID = 1
	require.NoError(t, s.db.Void(t.Context(), void))
	report, err := s.auditor.Audit(t.Context(), c.ID)
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	require.Contains(t, report.Invariants[len(report.Invariants)-1].Detail, "9 of 30 tickets drawn, 0 passed over, 8 of 30 noted")

	s.exec(t, "UPDATE orders SET status = 'cancelled' WHERE id = 1")
	report, err = s.auditor.Audit(t.Context(), c.ID)
	require.NoError(t, err)
	require.Contains(t, report.Violations[len(report.Violations)-1], "21 passed over", "it has had an order")
}

// An audit notices who was passed over, who was not drawn and has an order, and a ticket from after the draw.
func TestAnAuditNoticesADrawThatDidNotGoByTheRanks(t *testing.T) {
	for name, break_ := range map[string]string{
		"passed over":        "UPDATE lottery_draws SET seed = REVERSE(seed)",
		"a ticket too many":  "INSERT INTO lottery_entrants VALUES (1, 99, 99, 'r99', UTC_TIMESTAMP())",
		"a ticket less":      "DELETE FROM lottery_entrants WHERE user_id = 5",
		"another last rank":  "UPDATE lottery_draws SET last_rank = REPEAT('f', 64)",
		"a row that is gone": "DELETE FROM orders ORDER BY id LIMIT 1",
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			c := s.sell(t, 2*shards, 1)
			here := s.drawing("here")
			enter(t, here, c, users(30)...)
			s.later(lotteryWindow)
			draw(t, s, c, here)
			s.atRest(t, c, 2*shards)
			s.exec(t, break_)
			report, err := s.auditor.Audit(t.Context(), c.ID)
			require.NoError(t, err)
			require.Contains(t, report.Violations[len(report.Violations)-1], "I12")
		})
	}
}
