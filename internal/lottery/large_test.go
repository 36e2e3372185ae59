package lottery_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
)

// giveTickets writes tickets for the users 1 to n behind the store's back.
func (s shop) giveTickets(t *testing.T, c coupon.Coupon, n int) {
	t.Helper()
	s.Exec(t, `INSERT INTO lottery_entrants (coupon_id, user_id, id, request_id, created_at)
		SELECT ?, seq, 10000000 + seq, CONCAT('filled', seq), UTC_TIMESTAMP(3) FROM seq_1_to_1000000 WHERE seq <= ?`, c.ID, n)
}

// Each pass is much shorter than the whole draw takes.
func TestRunDraws_PassesAreTooShort_DrawEnds(t *testing.T) {
	s := open(t)
	const tickets, units = 2000, 1000
	c := s.Sell(t, units, 1)
	s.giveTickets(t, c, tickets)
	here := s.drawing("here")
	s.Later(window)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		here.RunDraws(ctx, lottery.Schedule{
			Every: time.Millisecond, Within: time.Millisecond, Locker: s.Locker(t, patient),
			Known: func() []coupon.Coupon { return []coupon.Coupon{c} },
		})
	})
	consuming(t, s, func() bool { return !here.DrawDue(c) }, here)
	stop()
	running.Wait()
	d, err := s.DB.Draw(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, []int64{tickets, units}, []int64{d.Entrants, d.Winners})
	require.Equal(t, 768, d.DecidedRanks, "whole pages of decided tickets are not looked at again")
	s.RequireConsistent(t, c, units)
}

// reads counts the tickets that a draw reads.
type reads struct {
	lottery.Draws

	ids, tickets int
}

func (r *reads) EntrantIDs(ctx context.Context, couponID, after int64, limit int) ([]int64, error) {
	ids, err := r.Draws.EntrantIDs(ctx, couponID, after, limit)
	r.ids += len(ids)
	return ids, err
}

func (r *reads) Entrants(ctx context.Context, couponID int64, users []int64) (map[int64]lottery.Entrant, error) {
	r.tickets += len(users)
	return r.Draws.Entrants(ctx, couponID, users)
}

func TestRunDraw_NextPass_ReadsOnlyTheTicketsThatAreNotDecided(t *testing.T) {
	s := open(t)
	const tickets, units = 1200, 600
	c := s.Sell(t, units, 1)
	s.giveTickets(t, c, tickets)
	orders := order.NewService(s.QueueDeps("here"))
	counted := &reads{Draws: s.DB}
	here := &instance{orders: orders, Service: lottery.New(lottery.Deps{
		Orders: orders, Draws: counted, Rows: s.DB, Sales: s.Deps.Sales, Stock: s.Stock, Queues: s.Stock, Window: window, Now: s.Now,
	})}
	s.Later(window)
	pass := func() (ended bool) {
		ended, err := here.RunDraw(t.Context(), c)
		require.NoError(t, err)
		return ended
	}
	require.False(t, pass())
	require.Equal(t, []int{tickets, 768}, []int{counted.ids, counted.tickets}, "three pages of ranks")
	consuming(t, s, s.Drained(t, c), here)
	counted.tickets = 0
	require.True(t, pass(), "every winner has a row")
	require.Equal(t, []int{tickets, 768}, []int{counted.ids, counted.tickets})
	d, err := s.DB.Draw(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, 512, d.DecidedRanks)

	s.Exec(t, "UPDATE lottery_draws SET ended_at = NULL") // as if the instance had stopped before it wrote the end
	counted.tickets = 0
	here.Service = lottery.New(lottery.Deps{
		Orders: orders, Draws: counted, Rows: s.DB, Sales: s.Deps.Sales, Stock: s.Stock, Queues: s.Stock, Window: window, Now: s.Now,
	})
	require.True(t, pass())
	require.Equal(t, 256, counted.tickets, "the page behind the settled ones")
}

// A pass that cannot go on leaves the turn to the draws of other sales.
func TestRunDraw_QueueIsFull_PassEndsAndALaterOneGoesOn(t *testing.T) {
	s := open(t)
	c := s.Sell(t, 5*shards, 1)
	here := s.drawing("here", func(p *order.Deps) { p.QueueCapacity = 2 })
	tickets := enter(t, here, c, users(60)...)
	s.Later(window)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	ended, err := here.RunDraw(ctx, c)
	require.NoError(t, err, "a pass does not wait for the workers")
	require.False(t, ended)
	require.EqualValues(t, 2*shards, s.Waiting(t, c).Entries)
	draw(t, s, c, here)
	requireDrawn(t, here, c, tickets, 5*shards)
}

// A pass looks at each queued ticket again, so its cost must not grow with the number of winners.
func TestRunDraws_ManyWinners_QueuesAFewPagesAtATime(t *testing.T) {
	s := open(t)
	const tickets, units, most = 3000, 1500, 512
	c := s.Sell(t, units, 1)
	s.giveTickets(t, c, tickets)
	here := s.drawing("here")
	here.SetMaxQueued(most)
	s.Later(window)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		here.RunDraws(ctx, lottery.Schedule{
			Every: 5 * time.Millisecond, Locker: s.Locker(t, patient), Known: func() []coupon.Coupon { return []coupon.Coupon{c} },
		})
	})
	queued := int64(0)
	consuming(t, s, func() bool {
		queued = max(queued, s.Waiting(t, c).Entries)
		return !here.DrawDue(c)
	}, here)
	stop()
	running.Wait()
	require.LessOrEqual(t, queued, int64(most), "the queue has the entries of a few pages")
	s.RequireConsistent(t, c, units)
}

// As after a restart: no buyer has asked the instance for the coupon.
func TestRunDraws_SaleIsNotKnown_FindsAndDrawsIt(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		c := s.Sell(t, 2*shards, 1)
		drawn, raced := s.Sell(t, 1, 1), s.Shop.Sell(t, 1, 1) // one whose draw has ended, and one without a draw
		here := s.drawing("here")
		tickets := enter(t, here, c, users(30)...)
		s.Later(window)
		draw(t, s, drawn, here)
		restarted := s.drawing("restarted")
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			restarted.RunDraws(ctx, lottery.Schedule{
				Every: soon, Locker: s.Locker(t, patient), Known: func() []coupon.Coupon { return nil },
				Loaded:    func(ctx context.Context) ([]coupon.Coupon, error) { return s.DB.Coupons().Loaded(ctx, s.Now()) },
				OnFailure: func(err error) { assert.NoError(t, err) },
			})
		})
		consuming(t, s, func() bool { return !restarted.DrawDue(c) }, restarted)
		stop()
		running.Wait()
		requireDrawn(t, restarted, c, tickets, 2*shards)
		s.RequireConsistent(t, c, 2*shards)
		require.True(t, restarted.DrawDue(drawn), "no pass was made over a draw that has ended")
		require.True(t, restarted.DrawDue(raced), "nor over a sale without a draw")
	})
}
