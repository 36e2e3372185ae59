package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/store"
)

// The clock is the bubble's.
func TestPacedSales_SlowCount_RestsTwentyTimesAsLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		counts, takes := 0, 10*time.Millisecond
		p := pacedSales{count: func(context.Context, ...int64) (map[int64]store.Sales, error) {
			counts++
			time.Sleep(takes)
			return map[int64]store.Sales{7: {Units: 5, Orders: int64(counts)}}, nil
		}}
		ask := func() int64 {
			sales, errs := p.read(t.Context(), []coupon.Coupon{{ID: 7}})
			require.Equal(t, []error{nil}, errs)
			return sales[0].Orders
		}
		require.EqualValues(t, 1, ask())
		require.EqualValues(t, 1, ask(), "within a second")
		time.Sleep(time.Second)
		takes = 500 * time.Millisecond
		require.EqualValues(t, 2, ask())
		time.Sleep(9 * time.Second)
		require.EqualValues(t, 2, ask(), "the count took half a second, so ten must pass")
		time.Sleep(time.Second)
		require.EqualValues(t, 3, ask())
	})
}

func TestPacedSales_CountFailsOrCouponIsNew_LeavesItOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		var fails error
		p := pacedSales{count: func(context.Context, ...int64) (map[int64]store.Sales, error) {
			return map[int64]store.Sales{7: {Units: 5, Orders: 6}}, fails
		}}
		sales, errs := p.read(t.Context(), []coupon.Coupon{{ID: 7}, {ID: 8}})
		require.Equal(t, metrics.Sales{Units: 5, Orders: 6, Oversold: 1}, sales[0])
		require.Equal(t, []error{nil, errNotCounted}, errs)
		time.Sleep(time.Second)
		fails = away
		_, errs = p.read(t.Context(), []coupon.Coupon{{ID: 7}})
		require.Equal(t, []error{away}, errs, "an old number looks like a true one")
	})
}
