package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func TestAGroupAndItsQueueAreBounded(t *testing.T) {
	inHall(t, GroupOptions{MaxOrders: 8, MaxWaiting: 20}, func(t *testing.T, h *hall) {
		c := onSale(t, h.subject, 100)
		for id := range int64(20) {
			h.come(t.Context(), c, wish(c, id+1, id+1))
		}
		start := time.Now()
		require.ErrorIs(t, place(t.Context(), h.subject, c, wish(c, 99, 99)), order.ErrUnavailable)
		require.Less(t, time.Since(start), patient/2, "it does not wait to be told")
		for _, err := range h.open() {
			require.NoError(t, err)
		}
		require.Equal(t, []int{8, 8, 4}, h.groups())
		left(t, h.subject, c)
	})
}

func TestALoneOrderWaitsForNobody(t *testing.T) {
	inHall(t, GroupOptions{}, func(t *testing.T, h *hall) {
		h.g.queue.workers = 0
		c := onSale(t, h.subject, 100)
		for id := range int64(3) {
			require.NoError(t, place(t.Context(), h.subject, c, wish(c, id+1, id+1)))
		}
		require.Eventually(t, func() bool { return len(h.sizes) == 3 }, patient, time.Millisecond)
		require.Equal(t, []int{1, 1, 1}, h.groups())
	})
}

func TestWhoeverWaitedLongerThanTheBudgetIsToldSo(t *testing.T) {
	inHall(t, GroupOptions{}, func(t *testing.T, h *hall) {
		c := onSale(t, h.subject, 100)
		h.come(t.Context(), c, wish(c, 1, 1))
		h.txTimeout = time.Nanosecond
		require.ErrorIs(t, h.open()[1], order.ErrUnavailable)
		require.Empty(t, h.groups())
		h.txTimeout = patient
		placed(t, h.subject, c, 2, 2)
		stock, live := left(t, h.subject, c)
		require.Equal(t, []int64{99, 1}, []int64{stock, live})
	})
}

func TestWhoLeavesTheQueueLeavesAtOnceAndWithoutHarm(t *testing.T) {
	inHall(t, GroupOptions{}, func(t *testing.T, h *hall) {
		c := onSale(t, h.subject, 100)
		ctx, leave := context.WithCancel(t.Context())
		h.come(ctx, c, wish(c, 1, 1))
		h.come(t.Context(), c, wish(c, 2, 2))
		leave()
		require.Equal(t, int64(1), (<-h.errs).id, "although nobody is served")
		h.placed--
		require.NoError(t, h.open()[2])
		stock, live := left(t, h.subject, c)
		require.Equal(t, []int64{99, 1}, []int64{stock, live})
	})
}
