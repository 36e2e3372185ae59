package audit_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

var all = []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I11"}

// number matches a number in an invariant's detail.
var number = regexp.MustCompile(`-?\b\d+`)

func TestAudit_QuietSale_IsCleanAndAddsUp(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 10)
		s.buy(t, c, 1)
		s.buy(t, c, 1)
		_, err := s.orders.Cancel(t.Context(), s.buy(t, c, 2).ID, 2)
		require.NoError(t, err)
		r := s.audited(t, c)
		require.Equal(t, all, with(r, audit.OK))
		require.True(t, r.Clean && r.Settled)
		require.Equal(t, []int64{10, 8, 2, 3, 0, 8}, []int64{r.Total, r.Stock, r.Live, r.Orders, r.Holds, r.Redis})
		require.Len(t, r.Shards, shards)
		require.True(t, r.Loaded && !r.Loading)
		for _, i := range r.Invariants {
			require.Equal(t, number.FindAllString(strings.TrimSuffix(i.Detail, " below 0"), -1), strings.Fields(strings.Trim(fmt.Sprint(i.Numbers), "[]")), i.ID)
		}

		s.hold(t, c, 3)
		s.owe(t, s.buy(t, c, 4))
		r = s.audited(t, c)
		require.True(t, r.Clean)
		require.False(t, r.Settled, "something is open")
		require.Equal(t, []int64{8, 2, 1, 1, 6}, []int64{r.Stock, r.Live, r.Holds, r.Returns, r.Redis})
	})
}

// A unit is counted once, wherever it is on its way.
func TestAudit_UnitInTransit_IsCountedOnce(t *testing.T) {
	s := open(t)
	for name, tc := range map[string]struct {
		given func(t *testing.T, c coupon.Coupon)
		want  []int64 // A, h, G and R
	}{
		"held": {func(t *testing.T, c coupon.Coupon) { s.hold(t, c, 1) }, []int64{0, 1, 0, 2}},
		"held, and lent by a sibling": {func(t *testing.T, c coupon.Coupon) {
			user := int64(1)
			for coupon.Home(user, shards) != shards-1 { // the shard that got no unit
				user++
			}
			s.hold(t, c, user)
		}, []int64{0, 1, 0, 2}},
		"sold, and not confirmed": {func(t *testing.T, c coupon.Coupon) { s.unconfirmed(t, c, 1) }, []int64{1, 0, 0, 2}},
		"owed":                    {func(t *testing.T, c coupon.Coupon) { s.owe(t, s.buy(t, c, 1)) }, []int64{0, 0, 1, 2}},
		"returned, and not noted": {func(t *testing.T, c coupon.Coupon) {
			_, err := s.orders.Cancel(t.Context(), s.buy(t, c, 1).ID, 1)
			require.NoError(t, err)
		}, []int64{0, 0, 0, 3}},
		"owed, and loaded since": {func(t *testing.T, c coupon.Coupon) {
			s.owe(t, s.buy(t, c, 1))
			_, err := s.coupons.Reload(t.Context(), c.ID)
			require.NoError(t, err)
		}, []int64{0, 0, 0, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, 3)
			tc.given(t, c)
			r := s.audited(t, c)
			require.Empty(t, r.Violations)
			require.Equal(t, tc.want, []int64{r.Live, r.Holds, r.Returns, r.Redis})
		})
	}
}

func TestAudit_SaleNotLoaded_ReportsNoViolation(t *testing.T) {
	s := open(t)
	past := time.Now().Add(-time.Minute)
	for name, given := range map[string]func(t *testing.T) coupon.Coupon{
		"a draft": func(t *testing.T) coupon.Coupon { return s.draft(t, 5) },
		"an ended sale that Redis has forgotten": func(t *testing.T) coupon.Coupon {
			c := s.sell(t, 5)
			s.buy(t, c, 1)
			_, err := s.coupons.Patch(t.Context(), c.ID, coupon.Change{End: true})
			require.NoError(t, err)
			require.NoError(t, s.redis.FlushAll(t.Context()).Err())
			return c
		},
		"a sale that the clock has ended": func(t *testing.T) coupon.Coupon {
			c := s.sell(t, 5)
			_, err := s.coupons.Patch(t.Context(), c.ID, coupon.Change{EndsAt: &past})
			require.NoError(t, err)
			require.NoError(t, s.redis.FlushAll(t.Context()).Err())
			return c
		},
		"a sale whose stock was altered in a pause": func(t *testing.T) coupon.Coupon {
			c := s.sell(t, 5)
			s.buy(t, c, 1)
			_, err := s.coupons.Pause(t.Context(), c.ID)
			require.NoError(t, err)
			more := int64(50)
			_, err = s.coupons.Patch(t.Context(), c.ID, coupon.Change{Total: &more})
			require.NoError(t, err)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := given(t)
			r := s.audited(t, c)
			require.Empty(t, r.Violations)
			require.Equal(t, []string{"I4", "I6"}, with(r, audit.NotRun))
			r, err := s.Repair(t.Context(), c.ID)
			require.NoError(t, err)
			require.True(t, r.Clean, "and there is nothing to repair")
		})
	}
}

func TestAudit_UnknownCoupon_Fails(t *testing.T) {
	s := open(t)
	_, err := s.Audit(t.Context(), 99)
	require.ErrorIs(t, err, coupon.ErrNotFound)
	_, err = s.Repair(t.Context(), 99)
	require.ErrorIs(t, err, coupon.ErrNotFound)
}

// A crowd buys, pays and cancels, and meets a loading, while the stores are read.
func TestAudit_ConcurrentLoad_ReportsNoViolation(t *testing.T) {
	// One transaction for each order, because more is met half-way then.
	s := in(apptest.Open(t, apptest.Single))
	c := s.sell(t, 300)
	ctx, stop := context.WithCancel(t.Context())
	counters := make(chan struct{}, 8) // so that an auditor has its turn on a small machine
	var crowd, auditors sync.WaitGroup
	for i := range int64(200) {
		crowd.Go(func() {
			for more := true; more && ctx.Err() == nil; {
				counters <- struct{}{}
				more = s.buyAndChange(t, c, i)
				<-counters
			}
		})
	}
	var reports []audit.Report
	look := func(n int) {
		from := len(reports)
		reports = append(reports, make([]audit.Report, n)...)
		for i := range n {
			auditors.Go(func() { reports[from+i], _ = s.Audit(t.Context(), c.ID) })
		}
	}
	busy := func() bool {
		return slices.ContainsFunc(reports, func(r audit.Report) bool { return len(with(r, audit.Unsettled)) > 0 })
	}
	look(2)
	_, err := s.coupons.Reload(t.Context(), c.ID)
	require.NoError(t, err)
	auditors.Wait()
	for range 10 { // an audit may find a quiet moment, however many buy
		if busy() {
			break
		}
		look(4)
		auditors.Wait()
	}
	require.True(t, busy(), "it was never busy")
	look(18) // while the workload ends
	stop()
	crowd.Wait()
	auditors.Wait()
	for _, r := range reports {
		require.Empty(t, r.Violations)
		require.Len(t, r.Invariants, len(all))
	}

	_, err = s.reconciler.Reconcile(t.Context(), c, 0)
	require.NoError(t, err)
	_, err = s.reconciler.Relay(t.Context())
	require.NoError(t, err)
	r := s.audited(t, c)
	require.True(t, r.Clean && r.Settled, "%+v", r)
	require.Greater(t, r.Orders, int64(200))
}

// buyAndChange returns false when the user has as many orders as the limit allows: every second
// user pays, and the others cancel and go on.
func (s *shop) buyAndChange(t *testing.T, c coupon.Coupon, user int64) bool {
	o, err := s.orders.Place(t.Context(), order.Request{CouponID: c.ID, UserID: user})
	switch {
	case errors.Is(err, order.ErrLimitReached):
		return false
	case err != nil:
		assert.True(t, errors.Is(err, order.ErrBusy) || errors.Is(err, coupon.ErrNotLoaded) ||
			errors.Is(err, order.ErrStaleEpoch), "%v", err)
		return true
	case user%2 == 0:
		_, err = s.orders.Pay(t.Context(), o.ID, user)
	default:
		_, err = s.orders.Cancel(t.Context(), o.ID, user)
	}
	return assert.NoError(t, err)
}
