package tracing_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/observe/tracing"
	"example.com/seckill/internal/order"
)

func keepOne(t *testing.T, r recorded, id, user int64, failed error) {
	t.Helper()
	d := decorate(r.Traces)
	r.requested(t, func(ctx context.Context) {
		_, _ = r.Place(ctx, order.Request{CouponID: 1, UserID: user}, func(ctx context.Context, _ order.Request) (order.Order, error) {
			d.step(ctx, order.StepReserve, nothing)
			d.step(ctx, order.StepConfirm, nothing)
			return order.Order{ID: id}, failed
		})
	})
}

func TestTrace_OtherUser_SeesNoSteps(t *testing.T) {
	r := record(t, tracing.Options{SampleRatio: 1, KeepTraces: 8})
	require.True(t, r.Keeps())
	keepOne(t, r, 7, 42, nil)
	var all []string
	for _, s := range r.Steps(7, 42) {
		all = append(all, s.Name)
		require.False(t, s.Failed)
	}
	require.Equal(t, []string{"place", "reserve", "confirm"}, all)
	require.Empty(t, r.Steps(7, 43))
	require.Empty(t, r.Steps(7, 0))
	require.Empty(t, r.Steps(8, 42))
	keepOne(t, r, 0, 42, errors.New("sold out"))
	require.Empty(t, r.Steps(0, 42))
	keepOne(t, r, 9, 42, errors.New("in doubt"))
	require.True(t, r.Steps(9, 42)[0].Failed)
}

func TestTraces_Full_DropOldest(t *testing.T) {
	r := record(t, tracing.Options{SampleRatio: 1, KeepTraces: 3})
	for id := range int64(10) {
		keepOne(t, r, 1+id, 42, nil)
	}
	for id := range int64(10) {
		require.Equal(t, id >= 7, len(r.Steps(1+id, 42)) == 3, "order %d", 1+id)
	}
}

func TestTrace_TooManySteps_IsBounded(t *testing.T) {
	r := record(t, tracing.Options{SampleRatio: 1, KeepTraces: 1})
	d := decorate(r.Traces)
	r.requested(t, func(ctx context.Context) {
		_, _ = r.Place(ctx, order.Request{UserID: 42}, func(ctx context.Context, _ order.Request) (order.Order, error) {
			for range 1000 {
				d.step(ctx, order.StepConfirm, nothing)
			}
			return order.Order{ID: 7}, nil
		})
	})
	require.Len(t, r.Steps(7, 42), 32)
}

func TestLatest_RequestsThatDidNotAsk_AreShownAndNotKept(t *testing.T) {
	const always = 1 << 30 // glances a second
	r := record(t, tracing.Options{KeepTraces: 2, Glances: always})
	require.Empty(t, r.Latest(1))
	keepOne(t, r, 7, 42, nil)
	require.Len(t, r.Latest(1), 3)
	require.Empty(t, r.Latest(2), "it is an order of another coupon")
	require.Empty(t, r.Steps(7, 42), "its buyer has not asked for it")
	keepOne(t, r, 0, 42, errors.New("sold out"))
	require.Len(t, r.Latest(1), 3, "a refusal is no order")

	off := record(t, tracing.Options{KeepTraces: 2})
	keepOne(t, off, 7, 42, nil)
	require.Empty(t, off.Latest(1))
}
