package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// comeTogether places orders in one call, which waits with those that came before.
func (h *hall) comeTogether(ctx context.Context, many ...order.Placement) <-chan []order.Placed {
	h.t.Helper()
	want, placed := h.waiting()+len(many), make(chan []order.Placed, 1)
	go func() { placed <- h.g.PlaceMany(ctx, many) }()
	require.Eventually(h.t, func() bool { return h.waiting() == want }, patient, time.Millisecond)
	return placed
}

// five are placements of as many users.
func five(c coupon.Coupon) []order.Placement {
	many := make([]order.Placement, 5)
	for i := range many {
		id := int64(i + 1)
		many[i] = placement(c, wish(c, id, id))
	}
	return many
}

func TestEachOrderOfACallForManyHasAnOutcomeOfItsOwn(t *testing.T) {
	inHall(t, GroupOptions{}, func(t *testing.T, h *hall) {
		c, empty := onSale(t, h.subject, 100), onSale(t, h.subject, 1)
		full := c
		full.LimitPerUser = 1
		first := h.alone()
		placed(t, first, c, 500, 50)
		placed(t, first, c, 501, 51)
		placed(t, first, c, 504, 54)
		placed(t, first, empty, 505, 55)
		stale := wish(c, 502, 52)
		stale.Fence = 9
		require.NoError(t, place(t.Context(), first, c, stale))
		again := wish(c, 16, 54)
		again.RequestID = "r504"
		gone, leave := context.WithCancel(t.Context())
		left := placement(c, wish(c, 18, 60))
		left.Context = gone

		answers := h.comeTogether(t.Context(),
			placement(c, wish(c, 10, 10)),
			placement(c, wish(c, 11, 50)),    // the user's second
			placement(full, wish(c, 12, 51)), // the user's second, where one is allowed
			placement(c, wish(c, 14, 52)),    // the user's fence is larger
			placement(c, again),
			placement(empty, wish(empty, 17, 56)),
			left,
			placement(c, wish(c, 19, 61)),
		)
		leave()
		h.open()
		got := <-answers
		require.Equal(t, order.Placed{Slot: 1}, got[0])
		require.Equal(t, order.Placed{Slot: 2}, got[1])
		require.ErrorIs(t, got[2].Err, order.ErrLimitReached)
		require.ErrorIs(t, got[3].Err, order.ErrAlone)
		require.ErrorIs(t, got[4].Err, order.ErrAlone)
		require.ErrorIs(t, got[5].Err, coupon.ErrSoldOut)
		require.ErrorIs(t, got[6].Err, context.Canceled)
		require.Equal(t, order.Placed{Slot: 1}, got[7])
		for id, user := range map[int64]int64{12: 51, 14: 52, 16: 54, 17: 56, 18: 60} {
			_, err := h.Get(t.Context(), id, user)
			require.ErrorIs(t, err, order.ErrNotFound, "nothing of it is written")
		}
	})
}

func TestAGroupThatFailsAsSuchLeavesTheOrdersOfACallToTheirCaller(t *testing.T) {
	h := newHall(t, onMariaDB(t), GroupOptions{})
	c := onSale(t, h.subject, 10)
	answers := h.comeTogether(t.Context(), five(c)...)
	h.at(stepCommit, func(context.Context) error { return errRetry })
	h.open()
	for _, p := range <-answers {
		require.ErrorIs(t, p.Err, order.ErrAlone)
	}
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{10, 0}, []int64{stock, live})
}

func TestACallForManyEndsWithItsDeadlineAndItsOrdersInDoubt(t *testing.T) {
	h := newHall(t, onMariaDB(t), GroupOptions{})
	c := onSale(t, h.subject, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	answers := h.comeTogether(ctx, five(c)...)
	told, committed := make(chan struct{}), make(chan struct{})
	h.at(stepCommit, func(context.Context) error { <-told; return nil })
	go func() { h.g.run(); close(committed) }()
	for _, p := range <-answers {
		require.ErrorIs(t, p.Err, order.ErrCommitUnknown)
	}
	close(told)
	<-committed
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{5, 5}, []int64{stock, live}, "as they were told, it may have happened")
}

func TestTheOrdersOfACallLeaveTheQueueWithIt(t *testing.T) {
	h := newHall(t, onMariaDB(t), GroupOptions{})
	c := onSale(t, h.subject, 10)
	ctx, leave := context.WithCancel(t.Context())
	answers := h.comeTogether(ctx, five(c)...)
	leave()
	for _, p := range <-answers {
		require.ErrorIs(t, p.Err, context.Canceled)
	}
	h.open()
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{10, 0}, []int64{stock, live})
}

func TestACallForMoreThanMayWaitIsRefusedAsAWhole(t *testing.T) {
	h := newHall(t, onMariaDB(t), GroupOptions{MaxWaiting: 4})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // of a call that waits
	defer cancel()
	for _, p := range h.g.PlaceMany(ctx, five(onSale(t, h.subject, 10))) {
		require.ErrorIs(t, p.Err, order.ErrUnavailable)
	}
	require.Zero(t, h.waiting())
	require.Empty(t, h.g.PlaceMany(t.Context(), nil))
}
