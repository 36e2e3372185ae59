package store

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// watchSteps returns the steps of all transactions from now on.
func (h *hall) watchSteps() *[]step {
	var taken []step
	h.g.stepHook = func(_ context.Context, next step) error {
		taken = append(taken, next)
		return nil
	}
	return &taken
}

// oneEach is a coupon of which each user may have one unit.
func oneEach(t *testing.T, s *subject, units int64) coupon.Coupon {
	c := onSale(t, s, units)
	c.LimitPerUser = 1
	return c
}

func TestGroup_LimitOne_WritesWithoutReading(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		c, other := oneEach(t, h.subject, 100), oneEach(t, h.subject, 100)
		raw(t, h.subject, "INSERT INTO fences VALUES (7, 3), (8, 7)") // the fence of all is 7
		for id := range int64(20) {
			h.come(t.Context(), c, wish(c, 40-id, id+1))
			h.come(t.Context(), other, wish(other, id+101, id+101))
		}
		taken := h.watchSteps()
		for id, err := range h.open() {
			require.NoError(t, err, id)
		}
		require.Equal(t, []int{40}, h.groups())
		require.Equal(t, []step{stepAtOnce, stepCommit}, *taken)
		for _, c := range []coupon.Coupon{c, other} {
			stock, live := left(t, h.subject, c)
			require.Equal(t, []int64{80, 20}, []int64{stock, live})
		}
		o, err := h.Get(t.Context(), 34, 7)
		require.NoError(t, err)
		require.Equal(t, wish(c, 34, 7), o, "every column as one transaction for each would write it")
		for _, user := range []int64{6, 7, 8} {
			var row fenceRow
			require.NoError(t, h.read.Take(&row, "user_id = ?", user).Error)
			require.EqualValues(t, 7, row.Fence, "of user %d", user)
		}
	})
}

func TestGroup_OneRejected_OthersShareTransaction(t *testing.T) {
	for name, refused := range map[string]func(h *hall, c coupon.Coupon) (*order.Attempt, error){
		"its fence is smaller": func(h *hall, c coupon.Coupon) (*order.Attempt, error) {
			raw(h.t, h.subject, "INSERT INTO fences VALUES (50, 9)")
			return attempt(c, wish(c, 5, 50)), order.ErrStaleFence
		},
		"its slot is taken": func(h *hall, c coupon.Coupon) (*order.Attempt, error) {
			placed(h.t, h.alone(), c, 500, 50)
			return attempt(c, wish(c, 5, 50)), order.ErrLimitReached
		},
		"its request has an order": func(h *hall, c coupon.Coupon) (*order.Attempt, error) {
			o := wish(c, 5, 50)
			o.RequestID = placed(h.t, h.alone(), onSale(h.t, h.subject, 1), 500, 50).RequestID
			return attempt(c, o), order.ErrDuplicate
		},
		"its id is taken": func(h *hall, c coupon.Coupon) (*order.Attempt, error) {
			placed(h.t, h.alone(), onSale(h.t, h.subject, 1), 5, 50)
			o := wish(c, 5, 50)
			o.RequestID = "another"
			return attempt(c, o), order.ErrDuplicate
		},
	} {
		t.Run(name, func(t *testing.T) {
			inHall(t, func(t *testing.T, h *hall) {
				c := oneEach(t, h.subject, 100)
				p, want := refused(h, c)
				before, _ := left(t, h.subject, c)
				got := h.comeTogether(append(five(c)[:4], p)...)
				taken := h.watchSteps()
				h.commit(t.Context())
				for _, one := range got[:4] {
					require.NoError(t, one.Err)
					require.Equal(t, 1, one.Order.Slot)
				}
				require.ErrorIs(t, got[4].Err, want)
				require.Equal(t, []step{stepAtOnce, stepFence, stepInsert, stepCommit}, *taken)
				require.Equal(t, []int{4}, h.groups(), "the others share a transaction")
				stock, _ := left(t, h.subject, c)
				require.Equal(t, before-4, stock)
			})
		})
	}
}

func TestGroup_CouponSoldOutOrEnded_RejectsItsOrders(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		c, few, ended := oneEach(t, h.subject, 100), oneEach(t, h.subject, 2), oneEach(t, h.subject, 9)
		ended.Epoch = 2
		answers := h.comeTogether(attempt(few, wish(few, 1, 1)), attempt(few, wish(few, 2, 2)), attempt(few, wish(few, 3, 3)),
			attempt(c, wish(c, 4, 4)), attempt(ended, wish(ended, 5, 5)))
		taken := h.watchSteps()
		h.commit(t.Context())
		for _, i := range []int{0, 1, 3} {
			require.NoError(t, answers[i].Err)
			require.Equal(t, 1, answers[i].Order.Slot)
		}
		require.ErrorIs(t, answers[2].Err, coupon.ErrSoldOut)
		require.ErrorIs(t, answers[4].Err, order.ErrStaleEpoch)
		require.Equal(t, []step{stepAtOnce, stepAtOnce, stepCommit}, *taken)
		stock, live := left(t, h.subject, few)
		require.Equal(t, []int64{0, 2}, []int64{stock, live})
	})
}

func TestGroup_LimitAboveOne_ReadsFirst(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		c := onSale(t, h.subject, 100) // of which each may have two
		placed(t, h.alone(), c, 1, 1)
		h.come(t.Context(), c, wish(c, 2, 1))
		one := oneEach(t, h.subject, 100)
		h.come(t.Context(), one, wish(one, 3, 3))
		taken := h.watchSteps()
		for id, err := range h.open() {
			require.NoError(t, err, id)
		}
		require.Equal(t, []step{stepFence, stepInsert, stepCommit}, *taken)
	})
}

// A server may be told to let a difference be negative, or to cut what does not fit.
func TestFence_Smaller_IsRefusedInEveryServerMode(t *testing.T) {
	for _, mode := range []string{"''", "'NO_UNSIGNED_SUBTRACTION'", "'ANSI,STRICT_ALL_TABLES'"} {
		t.Run(mode, func(t *testing.T) {
			h := newHall(t, onMariaDB(t, "sql_mode="+mode))
			c := oneEach(t, h.subject, 100)
			raw(t, h.subject, "INSERT INTO fences VALUES (2, 8)")
			got := h.comeTogether(five(c)...)
			h.commit(t.Context())
			for i, one := range got {
				if i == 1 {
					require.ErrorIs(t, one.Err, order.ErrStaleFence)
				} else {
					require.NoError(t, one.Err)
				}
			}
			var row fenceRow
			require.NoError(t, h.read.Take(&row, "user_id = 2").Error)
			require.EqualValues(t, 8, row.Fence)
		})
	}
}
