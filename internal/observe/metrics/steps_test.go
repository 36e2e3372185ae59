package metrics_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/order"
)

// steps answers with the error that it was made with.
type steps struct{ err error }

func (steps) Left(context.Context, int64, int) ([]int64, error) { return nil, nil }

func (s steps) SoldOut(int64, int64) bool { return true }

func (s steps) LimitReached(coupon.Coupon, int64) bool { return true }

func (s steps) Reserve(_ context.Context, c order.ReserveRequest) (order.Hold, error) {
	return order.Hold{OrderID: c.OrderID}, s.err
}

func (s steps) Confirm(context.Context, order.Hold) error { return s.err }

func (s steps) Release(context.Context, order.Hold) error { return s.err }

func (s steps) ReserveMany(_ context.Context, all []order.ReserveRequest) []order.Reservation {
	return make([]order.Reservation, len(all))
}

func (s steps) ConfirmMany(_ context.Context, all []order.Hold) []error {
	return make([]error, len(all))
}

func (s steps) ReleaseMany(_ context.Context, all []order.Hold) []error {
	return make([]error, len(all))
}

func (s steps) Do(ctx context.Context, _ string, work func(context.Context, *lock.Lease) error, opts ...lock.Option) error {
	if len(opts) != 1 {
		return errors.New("the option was lost")
	}
	return errors.Join(work(ctx, nil), s.err)
}

func (s steps) DoMany(ctx context.Context, keys []string, work func(context.Context, []*lock.Lease) []error, opts ...lock.Option) []error {
	if len(opts) != 1 {
		return []error{errors.New("the option was lost")}
	}
	return append(work(ctx, make([]*lock.Lease, len(keys))), s.err)
}

func (s steps) Raise(context.Context, string, uint64) error { return s.err }

func (s steps) InTx(ctx context.Context, work func(context.Context, order.Tx) error) error {
	return errors.Join(work(ctx, nil), s.err)
}

func (s steps) Place(_ context.Context, all []*order.Attempt) {
	for _, a := range all {
		a.Order.Slot, a.Err = 3, s.err
	}
}

func TestWhatIsMeasuredStaysAsItIs(t *testing.T) {
	for outcome, failed := range map[string]error{"ok": nil, "error": errAway} {
		t.Run(outcome, func(t *testing.T) {
			m, inner := metrics.New(), steps{failed}
			stock, locker, tx := m.Stock(inner), m.Locker(inner), m.Transactor(inner)
			h, err := stock.Reserve(t.Context(), order.ReserveRequest{OrderID: 7})
			require.Equal(t, int64(7), h.OrderID)
			require.True(t, stock.SoldOut(1, 1))
			require.True(t, stock.LimitReached(coupon.Coupon{}, 1))
			worked := 0
			for _, err := range []error{
				err, stock.Confirm(t.Context(), h), stock.Release(t.Context(), h),
				locker.Do(t.Context(), "k", func(context.Context, *lock.Lease) error { worked++; return nil }, lock.WithWait(0)),
				locker.Raise(t.Context(), "k", 1),
				tx.InTx(t.Context(), func(context.Context, order.Tx) error { worked++; return nil }),
			} {
				require.ErrorIs(t, err, failed)
			}
			require.Equal(t, 2, worked)
			grouped := metrics.New()
			a := &order.Attempt{}
			grouped.Committer(inner).Place(t.Context(), []*order.Attempt{a})
			require.ErrorIs(t, a.Err, failed)
			require.Equal(t, 3, a.Order.Slot)
			require.Contains(t, served(t, grouped), `seckill_order_step_duration_seconds_count{outcome="`+outcome+`",step="transaction"} 1`)
			text := served(t, m)
			for _, step := range []string{"reserve", "confirm", "release", "locked", "transaction"} {
				require.Contains(t, text, `seckill_order_step_duration_seconds_count{outcome="`+outcome+`",step="`+step+`"} 1`)
			}
			_ = locker.Do(t.Context(), "k", func(context.Context, *lock.Lease) error { return errFault }, lock.WithWait(0))
			require.Contains(t, served(t, m), `{outcome="error",step="locked"}`)
		})
	}
}

var errFault = errors.New("the work failed")
