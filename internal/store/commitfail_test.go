package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/faultnet"
)

// some are orders of as many users, who come to the hall.
func (h *hall) some(t *testing.T, units, n int64) map[int64]order.Order {
	t.Helper()
	c := onSale(t, h.subject, units)
	all := map[int64]order.Order{}
	for id := range n {
		o := wish(c, id+1, id+1)
		all[o.ID] = o
		h.come(t.Context(), c, o)
	}
	return all
}

// at runs once, before a step.
func (h *hall) at(s step, do func(ctx context.Context) error) {
	done := false
	h.g.stepHook = func(ctx context.Context, next step) error {
		if done || next != s {
			return nil
		}
		done = true
		return do(ctx)
	}
}

// The victim of a deadlock has been rolled back by the server: nobody of the group
// has anything, and everybody is to have an order at the end.
func TestGroup_Deadlock_RunsMembersIndividually(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	all := h.some(t, 10, 5)
	c := onSale(t, h.subject, 10)
	other := session(t, h.subject)
	h.at(stepInsert, func(ctx context.Context) error {
		for id := range 200 { // the server kills the one that has done less
			_, err := other.ExecContext(ctx, "INSERT INTO fences VALUES (?, 1)", 1000+id)
			require.NoError(t, err)
		}
		_, err := other.ExecContext(ctx, "UPDATE coupons SET title = 'Changed'")
		require.NoError(t, err)
		go func() {
			_, _ = other.ExecContext(t.Context(), "UPDATE fences SET fence = fence WHERE user_id = 1")
			_ = other.Rollback()
		}()
		return nil
	})
	for id, err := range h.open() {
		require.NoError(t, err, id)
	}
	require.Equal(t, []int{1, 1, 1, 1, 1}, h.groups(), "the transaction of all was not committed")
	stock, live := left(t, h.subject, couponOf(t, h.subject, all[1]))
	require.Equal(t, []int64{5, 5}, []int64{stock, live})
	left(t, h.subject, c)
}

func TestCommitter_SingleOrderIsRunAgain_CountsItsCommit(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		h.some(t, 10, 1)
		h.at(stepCommit, func(context.Context) error { return errRetry })
		for id, err := range h.open() {
			require.NoError(t, err, id)
		}
		require.Equal(t, []int{1}, h.groups())
	})
}

func TestGroup_OneUsersRowLocked_FailsNoOther(t *testing.T) {
	h := newHall(t, onMariaDB(t, "innodb_lock_wait_timeout=1"))
	raw(t, h.subject, "INSERT INTO fences VALUES (3, 1)")
	holder := session(t, h.subject, "UPDATE fences SET fence = 2 WHERE user_id = 3")
	h.some(t, 10, 5)
	got := h.open()
	for _, id := range []int64{1, 2, 4, 5} {
		require.NoError(t, got[id], id)
	}
	require.ErrorIs(t, got[3], order.ErrUnavailable)
	require.NoError(t, holder.Rollback())
}

func TestGroup_BudgetSpent_MembersRunIndividually(t *testing.T) {
	h := newHall(t, onMariaDB(t, "innodb_lock_wait_timeout=1"))
	raw(t, h.subject, "INSERT INTO fences VALUES (3, 1)")
	session(t, h.subject, "UPDATE fences SET fence = 2 WHERE user_id = 3")
	h.some(t, 10, 5)
	h.at(stepFence, func(context.Context) error {
		h.txTimeout = patient // of those who run alone; the group's is spent below
		return context.DeadlineExceeded
	})
	got := h.open()
	for _, id := range []int64{1, 2, 4, 5} {
		require.NoError(t, got[id], id)
	}
	require.ErrorIs(t, got[3], order.ErrUnavailable)
}

func TestGroup_CommitFails_IsUnknownThenDecidedForEach(t *testing.T) {
	for name, tc := range map[string]struct {
		fault   func(p *faultnet.Proxy)
		decided error
		live    int64
	}{
		"the server never heard of it": {func(p *faultnet.Proxy) { p.Inject(faultnet.NoRequests) }, nil, 0},
		"the server did it":            {func(p *faultnet.Proxy) { p.Inject(faultnet.NoReplies) }, order.ErrDuplicate, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s, direct, p := behindProxy(t)
			h := newHall(t, s)
			all := h.some(t, 10, 5)
			h.at(stepCommit, func(context.Context) error { tc.fault(p); return nil })
			for id, err := range h.open() {
				require.ErrorIs(t, err, order.ErrCommitUnknown, id)
			}
			require.NoError(t, p.Mend())
			for _, o := range all {
				require.Equal(t, tc.decided == nil, direct.Void(t.Context(), o) == nil)
				require.ErrorIs(t, direct.Void(t.Context(), o), order.ErrDuplicate, "it is decided for good")
			}
			stock, live := left(t, direct, couponOf(t, direct, all[1]))
			require.Equal(t, []int64{10 - tc.live, tc.live}, []int64{stock, live})
		})
	}
}

// Who has gone when the orders are written is left out. Who goes later has an order,
// as everybody whose answer is lost.
func TestGroup_MemberCancels_OthersCommit(t *testing.T) {
	for name, tc := range map[string]struct {
		at   step
		live int64
	}{
		"before the orders are written": {stepInsert, 1},
		"before the commit":             {stepCommit, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, onMariaDB(t))
			c := onSale(t, h.subject, 10)
			ctx, leave := context.WithCancel(t.Context())
			h.come(ctx, c, wish(c, 1, 1))
			h.come(t.Context(), c, wish(c, 2, 2))
			h.at(tc.at, func(context.Context) error { leave(); return nil })
			got := h.open()
			require.NoError(t, got[2])
			if tc.live == 1 {
				require.ErrorIs(t, got[1], context.Canceled)
			} else {
				require.NoError(t, got[1], "it is told the truth")
			}
			stock, live := left(t, h.subject, c)
			require.Equal(t, []int64{10 - tc.live, tc.live}, []int64{stock, live})
		})
	}
}

// Here the lock has let another in, who takes the slot after it was seen free.
func TestGroup_SlotTakenMeanwhile_LooksAgain(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	all := h.some(t, 10, 5)
	h.at(stepInsert, func(context.Context) error {
		o := all[3]
		raw(t, h.subject, `INSERT INTO orders SELECT 99, ?, 3, 1, 'pending', 1, 'r99', 0, 1, NOW(3), NOW(3)`, o.CouponID)
		raw(t, h.subject, "UPDATE coupons SET stock = stock - 1 WHERE id = ?", o.CouponID)
		return nil
	})
	for id, err := range h.open() {
		require.NoError(t, err, id)
	}
	o, err := h.Get(t.Context(), 3, 3)
	require.NoError(t, err)
	require.Equal(t, 2, o.Slot, "the limit is two")
	stock, live := left(t, h.subject, couponOf(t, h.subject, all[1]))
	require.Equal(t, []int64{4, 6}, []int64{stock, live})
}

func TestGroup_DatabaseUnavailable_MembersFailWithinBudget(t *testing.T) {
	s, _, p := behindProxy(t)
	h := newHall(t, s)
	h.some(t, 10, 5)
	p.Cut()
	start := time.Now()
	for id, err := range h.open() {
		require.ErrorIs(t, err, order.ErrUnavailable, id)
	}
	require.Less(t, time.Since(start), patient/2)
}

func couponOf(t *testing.T, s *subject, o order.Order) coupon.Coupon {
	t.Helper()
	found, err := s.Coupons().Find(t.Context(), o.CouponID)
	require.NoError(t, err)
	return found[0]
}

// A panic in a group ends no program, and leaves its orders in doubt: it may come after the commit.
func TestGroup_Panic_LeavesOrdersInDoubt(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	c := onSale(t, h.subject, 10)
	all := h.comeTogether(five(c)...)
	h.at(stepCommit, func(context.Context) error { panic("of one order") })
	h.commit(t.Context())
	for _, a := range all {
		require.ErrorIs(t, a.Err, order.ErrCommitUnknown)
	}
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{10, 0}, []int64{stock, live}, "it is rolled back")
	placed(t, h.subject, c, 6, 6)
}
