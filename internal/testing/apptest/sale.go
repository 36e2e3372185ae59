package apptest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Draft announces a coupon whose window is open.
func (s *Shop) Draft(t require.TestingT, units int64, limit int) coupon.Coupon {
	now := time.Now()
	c, err := s.Coupons.Create(context.Background(), coupon.Coupon{
		Title: "Half price", Total: units, LimitPerUser: limit, PriceCents: 199,
		BeginsAt: now.Add(-time.Hour), EndsAt: now.Add(24 * time.Hour),
	})
	require.NoError(t, err)
	return c
}

// Sell puts a coupon with the given units on sale, with the given limit for each user.
func (s *Shop) Sell(t require.TestingT, units int64, limit int) coupon.Coupon {
	c, err := s.Coupons.Publish(context.Background(), s.Draft(t, units, limit).ID)
	require.NoError(t, err)
	return c
}

// Request returns the user's request for one unit. The key may be empty.
func Request(c coupon.Coupon, user int64, key string) order.Request {
	return order.Request{CouponID: c.ID, UserID: user, Key: key}
}

// OpenHolds returns the holds of all shards.
func (s *Shop) OpenHolds(t require.TestingT, c coupon.Coupon) (all []order.Hold) {
	for k := range Shards {
		for h, err := range s.Stock.OpenHolds(context.Background(), c.ID, k, Shards) {
			require.NoError(t, err)
			all = append(all, h.Hold)
		}
	}
	return all
}

// RequireConsistent audits the stores in their current state. It fails the test unless nothing is held, nothing
// is owed, every invariant holds, and the number of live orders is live. If the sale has not ended, R equals D
// then, by I4 and I6.
func (s *Shop) RequireConsistent(t require.TestingT, c coupon.Coupon, live int64) audit.Report {
	require.Empty(t, s.OpenHolds(t, c), "holds are left")
	report, err := s.Auditor.Audit(context.Background(), c.ID)
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	require.True(t, report.Clean && report.Settled, "%+v", report)
	require.Equal(t, live, report.Live, "live orders")
	return report
}

// RequireSettled does the background work once, and then calls RequireConsistent.
func (s *Shop) RequireSettled(t require.TestingT, c coupon.Coupon, live int64) audit.Report {
	_, err := s.Reconciler.Reconcile(context.Background(), c, 0)
	require.NoError(t, err)
	_, err = s.Reconciler.Relay(context.Background())
	require.NoError(t, err)
	return s.RequireConsistent(t, c, live)
}

// Answer is the answer to one request.
type Answer struct {
	Order order.Order
	Err   error
}

// Together starts n calls at one signal and returns their answers.
func Together(n int, do func(i int) (order.Order, error)) []Answer {
	gate := make(chan struct{})
	all := make([]Answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-gate
			all[i].Order, all[i].Err = do(i)
		})
	}
	close(gate)
	wg.Wait()
	return all
}

// Key returns a key of Redis, with the name from the contract.
func Key(c coupon.Coupon, shard int, name string) string {
	return fmt.Sprintf("seckill:{%d:%d}:%s", c.ID, shard, name)
}

// Exec runs a statement directly on the database, without the store.
func (s *Shop) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := s.Raw.ExecContext(t.Context(), statement, args...)
	require.NoError(t, err)
}
