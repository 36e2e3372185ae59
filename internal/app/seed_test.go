package app

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
)

func openEmbeddedCore(t *testing.T) *App {
	t.Helper()
	a, err := OpenCore(t.Context(), config.Default(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close(context.WithoutCancel(t.Context()))) })
	return a
}

func TestSeed_RunTwice_PutsOneCouponOnSale(t *testing.T) {
	t.Parallel()
	a, first := openEmbeddedCore(t), FirstCoupon(5, 2, time.Hour)
	var out bytes.Buffer
	require.NoError(t, a.Seed(t.Context(), first, &out))
	require.Contains(t, out.String(), "coupon 1 is on sale: 5 units, until "+first.EndsAt.UTC().Format(time.RFC3339))
	left, errs := a.Stock.RemainingAll(t.Context(), known(t, a))
	require.Equal(t, []error{nil}, errs)
	require.Equal(t, [][]int64{{5}}, left)

	out.Reset()
	require.NoError(t, a.Seed(t.Context(), first, &out))
	require.Equal(t, "nothing to do: the database has coupon 1\n", out.String())
	require.Len(t, known(t, a), 1)
	require.Equal(t, coupon.OnSale, known(t, a)[0].State)
}

// A kill between the two steps leaves a draft, which no other step publishes.
func TestSeed_OnlyADraft_PublishesTheDraft(t *testing.T) {
	t.Parallel()
	a := openEmbeddedCore(t)
	_, err := a.Coupons.Create(t.Context(), FirstCoupon(7, 1, time.Hour))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, a.Seed(t.Context(), FirstCoupon(5, 1, time.Hour), &out))
	require.Contains(t, out.String(), "coupon 1 is on sale: 7 units")
	require.Len(t, known(t, a), 1)
}

// An administrator paused the sale, or prepares a second one.
func TestSeed_PausedCoupon_StaysPaused(t *testing.T) {
	t.Parallel()
	a := openEmbeddedCore(t)
	var out bytes.Buffer
	require.NoError(t, a.Seed(t.Context(), FirstCoupon(5, 1, time.Hour), &out))
	_, err := a.Coupons.Pause(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, a.Seed(t.Context(), FirstCoupon(5, 1, time.Hour), &out))
	require.Equal(t, coupon.Paused, known(t, a)[0].State)
}

func known(t *testing.T, a *App) []coupon.Coupon {
	t.Helper()
	all, err := a.store.Coupons().List(t.Context(), 0, 10)
	require.NoError(t, err)
	return all
}
