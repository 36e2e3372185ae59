package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// comeTogether adds attempts, and returns them.
func (h *hall) comeTogether(all ...*order.Attempt) []*order.Attempt {
	h.all = append(h.all, all...)
	return all
}

// five are attempts of as many users.
func five(c coupon.Coupon) []*order.Attempt {
	all := make([]*order.Attempt, 5)
	for i := range all {
		id := int64(i + 1)
		all[i] = attempt(c, wish(c, id, id))
	}
	return all
}

func TestCommitMany_EachOrder_HasItsOwnOutcome(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
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
		left := attempt(c, wish(c, 18, 60))
		left.Context = gone

		got := h.comeTogether(
			attempt(c, wish(c, 10, 10)),
			attempt(c, wish(c, 11, 50)),    // the user's second
			attempt(full, wish(c, 12, 51)), // the user's second, where one is allowed
			attempt(c, wish(c, 14, 52)),    // the user's fence is larger
			attempt(c, again),
			attempt(empty, wish(empty, 17, 56)),
			left,
			attempt(c, wish(c, 19, 61)),
		)
		leave()
		h.commit(t.Context())
		require.NoError(t, got[0].Err)
		require.Equal(t, 1, got[0].Order.Slot)
		require.NoError(t, got[1].Err)
		require.Equal(t, 2, got[1].Order.Slot)
		require.ErrorIs(t, got[2].Err, order.ErrLimitReached)
		require.ErrorIs(t, got[3].Err, order.ErrStaleFence)
		require.ErrorIs(t, got[4].Err, order.ErrDuplicate)
		require.ErrorIs(t, got[5].Err, coupon.ErrSoldOut)
		require.ErrorIs(t, got[6].Err, context.Canceled)
		require.NoError(t, got[7].Err)
		require.Equal(t, 1, got[7].Order.Slot)
		for id, user := range map[int64]int64{12: 51, 14: 52, 16: 54, 17: 56, 18: 60} {
			_, err := h.Get(t.Context(), id, user)
			require.ErrorIs(t, err, order.ErrNotFound, "nothing of it is written")
		}
	})
}

func TestCommitMany_GroupFails_LeavesOrdersToCaller(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	c := onSale(t, h.subject, 10)
	all := h.comeTogether(five(c)...)
	h.at(stepCommit, func(context.Context) error { return errRetry })
	h.commit(t.Context())
	for _, a := range all {
		require.ErrorIs(t, a.Err, order.ErrFallback)
	}
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{10, 0}, []int64{stock, live})
}

// The deadline ends the transaction before its commit, so nothing of it is written.
func TestCommitter_DeadlineBeforeTheCommit_WritesNothing(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	c := onSale(t, h.subject, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	all := h.comeTogether(five(c)...)
	h.at(stepCommit, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	h.commit(ctx)
	for _, a := range all {
		require.ErrorIs(t, a.Err, order.ErrFallback)
	}
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{10, 0}, []int64{stock, live})
}

// Others are in the transaction: the request of one of them must not end it.
func TestCommitter_CallIsCancelled_CommitsThoseWhoseRequestGoesOn(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	c := onSale(t, h.subject, 10)
	ctx, leave := context.WithCancel(t.Context())
	all := h.comeTogether(five(c)...)
	h.at(stepCommit, func(context.Context) error { leave(); return nil })
	h.commit(ctx)
	for _, a := range all {
		require.NoError(t, a.Err)
	}
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{5, 5}, []int64{stock, live})
}
