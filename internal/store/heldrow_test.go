package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func TestCommitter_RowOfOneCouponIsHeld_OthersAreCommitted(t *testing.T) {
	s, g := onMariaDB(t).grouped(CommitOptions{})
	held, other := onSale(t, s, 10), onSale(t, s, 10)
	s.txTimeout = 300 * time.Millisecond
	operator := session(t, s)
	_, err := operator.ExecContext(t.Context(), "SELECT id FROM coupons WHERE id = ? FOR UPDATE", held.ID)
	require.NoError(t, err)
	require.ErrorIs(t, place(t.Context(), s, held, wish(held, 1, 1)), order.ErrUnavailable)
	require.True(t, g.Held(held.ID))
	require.False(t, g.Held(other.ID))

	s.txTimeout = patient // from here on an order that waits for the row fails the test by waiting
	mixed := []*order.Attempt{attempt(held, wish(held, 2, 2)), attempt(other, wish(other, 3, 3))}
	g.Place(t.Context(), mixed)
	require.ErrorIs(t, mixed[0].Err, order.ErrFallback)
	require.NoError(t, mixed[1].Err)

	waiting := make(chan error)
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	untilItWaits(t, s, func() { waiting <- place(ctx, s, held, wish(held, 2, 2)) })
	require.NoError(t, place(t.Context(), s, other, wish(other, 4, 4)), "while an order waits for the row")
	require.NoError(t, operator.Rollback())
	require.NoError(t, <-waiting)
	require.False(t, g.Held(held.ID), "an order was committed")
	again := []*order.Attempt{attempt(held, wish(held, 5, 5)), attempt(other, wish(other, 6, 6))}
	g.Place(t.Context(), again)
	require.NoError(t, again[0].Err)
	require.NoError(t, again[1].Err)
}

func TestCommitter_HeldRow_IsTriedWithOthersAfterAWhile(t *testing.T) {
	h := newHeldRows()
	h.note(1, context.DeadlineExceeded, time.Millisecond)
	require.Eventually(t, func() bool { return !h.has(1) }, patient, time.Millisecond)
	h.note(1, context.DeadlineExceeded, time.Hour)
	h.note(1, order.ErrStaleFence, time.Hour)
	require.True(t, h.has(1), "this error says nothing of the row")
	h.note(1, nil, time.Hour)
	require.False(t, h.has(1))
}
