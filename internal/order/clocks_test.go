package order_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/clock"
)

// wrong is the clock of an instance whose machine has a wrong time, after it was held
// against those of Redis and the database.
func (s *shop) wrong(t *testing.T, by time.Duration) func() time.Time {
	t.Helper()
	c := clock.New(func() time.Time { return time.Now().Add(by) })
	_, err := c.Read(t.Context(), "database", s.db.Time)
	require.NoError(t, err)
	_, err = c.Read(t.Context(), "redis", func(ctx context.Context) (time.Time, error) { return s.redis.Time(ctx).Result() })
	require.NoError(t, err)
	c.Agree()
	return c.Now
}

// Ages are counted by one time in the whole fleet, whatever the machines believe.
func TestWrongClock_Orders_AreNotVoidedOrExpired(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for _, by := range []time.Duration{31 * time.Second, maxAge + time.Second, time.Hour, -time.Hour} {
			c := s.sell(t, shards, 1)
			now := s.wrong(t, by)
			right, ahead := s.queueing("right"), s.queueing("ahead", func(p *order.Deps) { p.Now = now })
			o := queued(t, right, c, 7, by.String())
			shown, err := ahead.Get(t.Context(), o.ID, 7)
			require.NoError(t, err)
			require.Equal(t, order.Queued, shown.Status, "asked through an instance that is %s ahead", by)
			consuming(t, s, s.drained(t, c), ahead)
			shown, err = right.Get(t.Context(), o.ID, 7)
			require.NoError(t, err)
			require.Equal(t, order.Pending, shown.Status, "served by an instance that is %s ahead", by)

			reconciler := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Now = now })
			expired, err := reconciler.Expire(t.Context())
			require.NoError(t, err)
			require.Zero(t, expired, "it has %s to pay", paymentTimeout)
			paid, err := ahead.Pay(t.Context(), o.ID, 7)
			require.NoError(t, err)
			require.Equal(t, order.Paid, paid.Status)
		}
	})
}

// A sale begins and ends at the same moment on every instance.
func TestWrongClock_SaleNotStarted_StaysClosed(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	begins := time.Now().Add(10 * time.Second)
	_, err := s.coupons.Patch(t.Context(), c.ID, coupon.Change{BeginsAt: &begins})
	require.NoError(t, err)
	_, err = s.with(func(p *order.Deps) { p.Now = s.wrong(t, 16*time.Second) }).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, coupon.ErrNotStarted)
}
