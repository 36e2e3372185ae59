package metrics_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/order"
)

// database has transactions that end with an error.
type database struct {
	order.Database
	err error
}

func (s database) InTx(ctx context.Context, work func(context.Context, order.Tx) error) error {
	return errors.Join(work(ctx, nil), s.err)
}

func nothing(context.Context) {}

func TestHook_EachStep_IsOneObservationAndStaysAsItIs(t *testing.T) {
	for outcome, failed := range map[string]error{"ok": nil, "error": errAway} {
		t.Run(outcome, func(t *testing.T) {
			m := metrics.New()
			hook := m.Hook()
			all := []*order.Attempt{{}, {}}
			for _, step := range []order.Step{order.StepReserve, order.StepLock, order.StepWork, order.StepCommit} {
				hook(t.Context(), step, all, func(context.Context) { all[1].Err = failed })
			}
			require.Equal(t, failed, all[1].Err)
			all[1].Err = errAway // an order that was refused is released without a failure
			for _, step := range []order.Step{order.StepConfirm, order.StepRelease} {
				hook(t.Context(), step, all, func(context.Context) { all[0].HoldErr = failed })
			}
			text := served(t, m)
			for _, step := range []string{"reserve", "confirm", "release", "locked", "transaction"} {
				require.Contains(t, text, `seckill_order_step_duration_seconds_count{outcome="`+outcome+`",step="`+step+`"} 1`)
			}
			require.NotContains(t, text, `step="work"`)
		})
	}
}

func TestDatabase_Transaction_IsMeasuredAndStaysAsItIs(t *testing.T) {
	for outcome, failed := range map[string]error{"ok": nil, "error": errAway} {
		m, worked := metrics.New(), 0
		err := m.Database(database{err: failed}).InTx(t.Context(), func(context.Context, order.Tx) error { worked++; return nil })
		require.ErrorIs(t, err, failed)
		require.Equal(t, 1, worked)
		require.Contains(t, served(t, m), `seckill_order_step_duration_seconds_count{outcome="`+outcome+`",step="transaction"} 1`)
	}
}
