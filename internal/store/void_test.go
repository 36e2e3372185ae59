package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func TestVoid_Request_NeverBecomesAnOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 5)
		o := wish(c, 1, 1)
		require.NoError(t, s.Void(t.Context(), o))
		require.ErrorIs(t, s.Void(t.Context(), o), order.ErrDuplicate, "once is enough")
		require.ErrorIs(t, place(t.Context(), s, c, o), order.ErrDuplicate)

		kept, err := s.ByRequest(t.Context(), o.RequestID, o.UserID)
		require.NoError(t, err)
		require.Equal(t, order.Void, kept.Status)
		require.Zero(t, kept.Slot, "it takes no slot")
		stock, live := left(t, s, c)
		require.Equal(t, []int64{5, 0}, []int64{stock, live}, "and no unit")
		listed, err := s.List(t.Context(), 1, 0, 10)
		require.NoError(t, err)
		require.Empty(t, listed, "and is no order")
	})
}

func TestVoid_RequestInProgress_WaitsThenTellsTheOutcome(t *testing.T) {
	rollback := order.ErrUnavailable // an error that is not run again
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 5)
		for id, tc := range map[int64]struct {
			end  error
			void error
		}{
			1: {nil, order.ErrDuplicate},
			2: {rollback, nil},
		} {
			o := wish(c, id, id)
			voided := make(chan error, 1)
			err := placeAnd(t.Context(), s, c, o, func(context.Context) error {
				untilItWaits(t, s, func() { voided <- s.Void(t.Context(), o) })
				require.Empty(t, voided, "it must not decide before the transaction does")
				return tc.end
			})
			require.ErrorIs(t, err, tc.end)
			require.ErrorIs(t, <-voided, tc.void)
		}
		stock, live := left(t, s, c)
		require.Equal(t, []int64{4, 1}, []int64{stock, live})
	})
}

func TestVoid_LockWaitTimesOut_DecidesNothing(t *testing.T) {
	s := onMariaDB(t)
	c := onSale(t, s, 5)
	o := wish(c, 1, 1)
	err := s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		require.NoError(t, placing(ctx, tx, c, o))
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, s.Void(short, o), order.ErrUnavailable)
		return nil
	})
	require.NoError(t, err)
	require.ErrorIs(t, s.Void(t.Context(), o), order.ErrDuplicate)
	stock, live := left(t, s, c)
	require.Equal(t, []int64{4, 1}, []int64{stock, live})
}
