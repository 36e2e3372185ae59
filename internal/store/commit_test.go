package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// hall has the attempts of one transaction: they come, and open commits them together.
type hall struct {
	*subject
	g    *Committer
	t    *testing.T
	size chan int // of each transaction that was committed
	all  []*order.Attempt
}

func newHall(t *testing.T, s *subject) *hall {
	h := &hall{t: t, size: make(chan int, 1000)}
	h.subject, h.g = s.grouped(CommitOptions{OnCommit: func(n int, _ time.Duration) { h.size <- n }})
	return h
}

// come adds an order.
func (h *hall) come(ctx context.Context, c coupon.Coupon, o order.Order) {
	a := attempt(c, o)
	a.Context = ctx
	h.all = append(h.all, a)
}

// open commits all orders, and those alone that cannot be committed with others, as package order does. It returns
// the error of each by its id.
func (h *hall) open() map[int64]error {
	h.t.Helper()
	all := h.all
	h.commit(h.t.Context())
	errs := map[int64]error{}
	for _, a := range all {
		if errors.Is(a.Err, order.ErrFallback) {
			a.Err = nil
			h.g.Place(h.t.Context(), []*order.Attempt{a})
		}
		errs[a.Order.ID] = a.Err
	}
	return errs
}

// commit commits all orders in one call.
func (h *hall) commit(ctx context.Context) {
	all := h.all
	h.all = nil
	h.g.Place(ctx, all)
}

// groups are the sizes of the transactions that were committed since.
func (h *hall) groups() (sizes []int) {
	for len(h.size) > 0 {
		sizes = append(sizes, <-h.size)
	}
	return sizes
}

// inHall runs a test on each database.
func inHall(t *testing.T, test func(t *testing.T, h *hall)) {
	t.Run("MariaDB", func(t *testing.T) { test(t, newHall(t, onMariaDB(t))) })
	t.Run("SQLite", func(t *testing.T) { test(t, newHall(t, onSQLite(t))) })
}

func TestGroup_ConcurrentOrders_CommitTogether(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		c, other := onSale(t, h.subject, 100), onSale(t, h.subject, 100)
		for id := range int64(20) {
			h.come(t.Context(), c, wish(c, id+1, id+1))
			h.come(t.Context(), other, wish(other, id+101, id+101))
		}
		for id, err := range h.open() {
			require.NoError(t, err, id)
		}
		require.Equal(t, []int{40}, h.groups())
		for _, c := range []coupon.Coupon{c, other} {
			stock, live := left(t, h.subject, c)
			require.Equal(t, []int64{80, 20}, []int64{stock, live})
		}
		o, err := h.Get(t.Context(), 7, 7)
		require.NoError(t, err)
		want := wish(c, 7, 7)
		require.Equal(t, want, o, "every column as one transaction for each would write it")
	})
}

func TestGroup_BadOrders_OthersCommit(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		c, empty, ended := onSale(t, h.subject, 100), onSale(t, h.subject, 1), onSale(t, h.subject, 100)
		full := c
		full.LimitPerUser = 1
		want := map[int64]error{}
		good := func(ids ...int64) {
			for _, id := range ids {
				h.come(t.Context(), c, wish(c, id, id))
				want[id] = nil
			}
		}
		bad := func(c coupon.Coupon, o order.Order, err error) {
			h.come(t.Context(), c, o)
			want[o.ID] = err
		}
		first := h.alone()
		placed(t, first, c, 500, 50)
		placed(t, first, empty, 501, 51)
		stale := wish(c, 502, 52)
		stale.Fence = 9
		require.NoError(t, place(t.Context(), first, c, stale))
		for user := int64(53); user <= 55; user++ { // who have bought something else
			placed(t, first, ended, 450+user, user) // as 503 to 505
		}

		good(10, 11)
		bad(full, wish(c, 20, 50), order.ErrLimitReached)
		good(12)
		bad(c, wish(c, 21, 52), order.ErrStaleFence) // its fence is 7
		again := wish(c, 22, 53)
		again.RequestID = "r503"
		bad(c, again, order.ErrDuplicate)
		good(13, 14)
		again = wish(c, 23, 54)
		again.RequestID = "r504"
		bad(c, again, order.ErrDuplicate)
		again = wish(c, 505, 55) // the id of another order of the user
		again.RequestID = "another"
		bad(c, again, order.ErrDuplicate)
		bad(empty, wish(empty, 24, 56), coupon.ErrSoldOut)
		later := ended
		later.Epoch = 2
		bad(later, wish(ended, 25, 57), order.ErrStaleEpoch)
		lost := c
		lost.ID = 999
		bad(lost, wish(lost, 26, 58), coupon.ErrNotFound)
		good(15)
		long := wish(c, 27, 59)
		long.RequestID = strings.Repeat("x", 65)
		if h.dialect == mysqlDialect {
			bad(c, long, errAny)
		}
		good(16)
		gone, leave := context.WithCancel(t.Context())
		h.come(gone, c, wish(c, 28, 60))
		want[28] = context.Canceled
		leave()
		got := h.open()
		require.Len(t, got, len(want))
		for id, err := range want {
			if errors.Is(err, errAny) {
				require.Error(t, got[id])
				continue
			}
			require.ErrorIs(t, got[id], err, "order %d", id)
		}
		stock, live := left(t, h.subject, c)
		require.Equal(t, []int64{100 - 7 - 2, 7 + 2}, []int64{stock, live}, "who was refused has written nothing")
		for _, id := range []int64{20, 21, 22, 23, 24, 25, 26, 27, 28} {
			_, err := h.Get(t.Context(), id, 30+id)
			require.ErrorIs(t, err, order.ErrNotFound)
		}
		var seen *order.StaleFenceError
		require.ErrorAs(t, got[21], &seen)
		require.Equal(t, order.StaleFenceError{Given: 7, Seen: 9}, *seen)
	})
}

func TestGroup_NotDuplicates_CommitTogether(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		c, other := onSale(t, h.subject, 100), onSale(t, h.subject, 100)
		for id := range int64(12) {
			o := wish(c, id+1, id+1)
			if id%5 == 2 {
				before := placed(t, h.alone(), other, 900+id, o.UserID)
				o.RequestID = before.RequestID
			}
			h.come(t.Context(), c, o)
		}
		for id, err := range h.open() {
			if (id-1)%5 == 2 {
				require.ErrorIs(t, err, order.ErrDuplicate)
			} else {
				require.NoError(t, err)
			}
		}
		require.Equal(t, []int{10}, h.groups())
		stock, live := left(t, h.subject, c)
		require.Equal(t, []int64{90, 10}, []int64{stock, live})
	})
}

var errAny = errors.New("any error")

func TestGroup_LastUnits_GoToFirstMembers(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		few, none, many := onSale(t, h.subject, 4), onSale(t, h.subject, 1), onSale(t, h.subject, 50)
		placed(t, h.alone(), none, 900, 900)
		for id := int64(10); id > 0; id-- { // the first to come has the largest id
			h.come(t.Context(), few, wish(few, id, id))
			h.come(t.Context(), none, wish(none, 100+id, 100+id))
			h.come(t.Context(), many, wish(many, 200+id, 200+id))
		}
		for id, err := range h.open() {
			if id > 200 || id <= 10 && id > 6 {
				require.NoError(t, err, id)
			} else {
				require.ErrorIs(t, err, coupon.ErrSoldOut, id)
			}
		}
		require.Equal(t, []int{14}, h.groups(), "in one transaction, after the others left")
		stock, live := left(t, h.subject, few)
		require.Equal(t, []int64{0, 4}, []int64{stock, live})
		stock, live = left(t, h.subject, many)
		require.Equal(t, []int64{40, 10}, []int64{stock, live})
	})
}

func TestGroup_SlotNotFirst_IsFound(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		c := onSale(t, h.subject, 100)
		placed(t, h.alone(), c, 1, 1)
		h.come(t.Context(), c, wish(c, 2, 1))
		h.come(t.Context(), c, wish(c, 3, 3))
		for _, err := range h.open() {
			require.NoError(t, err)
		}
		require.Equal(t, []int{2}, h.groups(), "it takes no second transaction")
		o, err := h.Get(t.Context(), 2, 1)
		require.NoError(t, err)
		require.Equal(t, 2, o.Slot)
	})
}
