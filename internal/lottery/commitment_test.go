package lottery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

// draws counts the draws in the database.
func (s shop) draws(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, s.Raw.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM lottery_draws").Scan(&n))
	return n
}

func TestReadDraw_SaleWithoutADraw_IsNotFoundAndWritesNothing(t *testing.T) {
	s := open(t)
	fifo := s.Shop.Sell(t, shards, 1) // by an instance in fifo mode
	here := s.drawing("here")
	for _, later := range []time.Duration{0, window, 25 * time.Hour} {
		s.Later(later)
		_, _, err := here.ReadDraw(t.Context(), fifo.ID)
		require.ErrorIs(t, err, order.ErrNotFound)
		ended, err := here.RunDraw(t.Context(), fifo)
		require.NoError(t, err)
		require.False(t, ended)
		require.False(t, here.DrawDue(fifo), "the background work looks again after a while only")
	}
	require.Zero(t, s.draws(t), "a reader has written a draw")
}

func TestPlace_SaleWithoutADraw_TheFirstTicketMakesIt(t *testing.T) {
	s := open(t)
	c := s.Shop.Sell(t, shards, 1)
	here, elsewhere := s.drawing("here"), s.drawing("elsewhere")
	_, _, err := elsewhere.ReadDraw(t.Context(), c.ID)
	require.ErrorIs(t, err, order.ErrNotFound)
	tickets := enter(t, here, c, users(3)...)
	shown, err := elsewhere.Get(t.Context(), tickets[1].ID, 1)
	require.NoError(t, err)
	require.Equal(t, lottery.Entered, shown.Status)
	first, _, err := here.ReadDraw(t.Context(), c.ID)
	require.NoError(t, err)
	second, _, err := elsewhere.ReadDraw(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, first.SeedHash(), second.SeedHash())
	require.NoError(t, lottery.MakeDraw(t.Context(), s.DB, c.ID), "it is published again")
	require.Equal(t, 1, s.draws(t))
	s.Later(window)
	draw(t, s, c, here)
	requireDrawn(t, here, c, tickets, 3)
}

func TestReadDraw_SaleInTheArchive_ShowsTheSameSeed(t *testing.T) {
	s := open(t)
	c := s.Sell(t, shards, 1)
	here := s.drawing("here")
	enter(t, here, c, users(20)...)
	s.Later(window)
	draw(t, s, c, here)
	before, _, err := here.ReadDraw(t.Context(), c.ID)
	require.NoError(t, err)

	s.Exec(t, `UPDATE coupons SET state = 'ended', shards = 0, begins_at = UTC_TIMESTAMP(3) - INTERVAL 4 DAY,
		ends_at = UTC_TIMESTAMP(3) - INTERVAL 3 DAY`)
	s.Exec(t, "UPDATE orders SET status = 'paid'")
	for {
		step, err := s.DB.Archive(t.Context(), c.ID, time.Now(), 7)
		require.NoError(t, err)
		report, err := s.Auditor.Audit(t.Context(), c.ID)
		require.NoError(t, err)
		require.Empty(t, report.Violations, "the tickets that are gone are no violation")
		if step.Entrants+step.Orders == 0 {
			break
		}
	}
	var left int
	require.NoError(t, s.Raw.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM lottery_entrants").Scan(&left))
	require.Zero(t, left)
	after, _, err := s.drawing("later").ReadDraw(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NotEmpty(t, after.Seed)
}

// One key makes one order. The ticket of the other coupon is served by a request of its own.
func TestGet_OneKeyForTicketsOfTwoCoupons_ShowsEachItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		first, second := s.Sell(t, 2*shards, 1), s.Sell(t, 2*shards, 1)
		here := s.drawing("here")
		of := map[int64]map[int64]order.Order{}
		for _, c := range []coupon.Coupon{first, second} {
			of[c.ID] = enter(t, here, c, users(20)...)
		}
		s.Later(window)
		draw(t, s, first, here)
		for user, ticket := range of[second.ID] {
			o, err := here.Get(t.Context(), ticket.ID, user)
			require.NoError(t, err)
			require.Equal(t, []any{second.ID, lottery.Entered}, []any{o.CouponID, o.Status}, "user %d", user)
		}
		draw(t, s, second, here)
		for _, c := range []coupon.Coupon{first, second} {
			requireDrawn(t, here, c, of[c.ID], 2*shards)
			for user, ticket := range of[c.ID] {
				o, err := here.Get(t.Context(), ticket.ID, user)
				require.NoError(t, err)
				require.Equal(t, c.ID, o.CouponID, "user %d", user)
			}
			s.RequireConsistent(t, c, 2*shards)
		}
		raise(t, s, second, 3*shards)
		later := s.drawing("later")
		for user, ticket := range of[second.ID] {
			want, err := later.Get(t.Context(), ticket.ID, user)
			require.NoError(t, err)
			o, err := later.Place(t.Context(), apptest.Request(second, user, "k"))
			if want.Status == lottery.NotDrawn {
				require.Error(t, err, "user %d", user)
				continue
			}
			require.NoError(t, err, "user %d", user)
			require.Equal(t, want.ID, o.ID, "user %d", user)
		}
	})
}

// The ticket is the answer to its request, also when nobody gets another one.
func TestPlace_KeyOfATicket_ShowsItWhateverRefusesOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, s shop) {
		for name, refuse := range map[string]func(t *testing.T, c coupon.Coupon){
			"the draw has begun": func(t *testing.T, c coupon.Coupon) { require.NoError(t, s.DB.Begin(t.Context(), c.ID, s.Now())) },
			"the sale has ended": func(t *testing.T, c coupon.Coupon) {
				_, err := s.Coupons.Patch(t.Context(), c.ID, coupon.Change{End: true})
				require.NoError(t, err)
			},
		} {
			t.Run(name, func(t *testing.T) {
				c := s.Sell(t, shards, 1)
				one := s.drawing("a")
				r := order.Request{CouponID: c.ID, UserID: 7, Key: "k"}
				ticket := place(t, one, r, lottery.Entered)
				refuse(t, c)
				_, err := one.Place(t.Context(), order.Request{CouponID: c.ID, UserID: 8, Key: "k"})
				require.Error(t, err)
				_, err = one.Place(t.Context(), order.Request{CouponID: c.ID, UserID: 7, Key: "another"})
				require.Error(t, err)
				again, err := s.drawing("b").Place(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, ticket.ID, again.ID)
			})
		}
	})
}
