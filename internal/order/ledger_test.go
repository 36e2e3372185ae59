package order_test

import (
	"errors"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// ledger is what must be true of a sale's orders, in plain Go: no store, no network,
// one thing after the other.
type ledger struct {
	units  int64
	limit  int
	now    time.Duration // how far the clock is ahead
	orders map[int64]*entry
	keys   map[order.Request]int64 // the order that a request with a key has
}

type entry struct {
	user   int64
	status order.Status
	until  time.Duration
}

// overdue says that the time to pay is over. The clock is moved in steps so large that
// the time a test takes is nothing beside them.
func (l *ledger) overdue(e *entry) bool { return e.status == order.Pending && l.now >= e.until }

func (l *ledger) live(user int64) (all int64, own int) {
	for _, e := range l.orders {
		if e.status.Live() {
			all++
			if e.user == user {
				own++
			}
		}
	}
	return all, own
}

// placed notes a new order.
func (l *ledger) placed(r order.Request, id int64) {
	l.orders[id] = &entry{user: r.UserID, status: order.Pending, until: l.now + paymentTimeout}
	if r.Key != "" {
		l.keys[r] = id
	}
}

// place reports whether the answer to the request is right, and notes it.
func (l *ledger) place(t *rapid.T, r order.Request, o order.Order, err error) {
	if id, known := l.keys[r]; known && r.Key != "" {
		require.NoError(t, err, "it has its order")
		require.Equal(t, id, o.ID, "one order a request")
		require.Equal(t, l.orders[id].status, o.Status)
		return
	}
	all, own := l.live(r.UserID)
	switch {
	case errors.Is(err, order.ErrLimitReached):
		require.Equal(t, l.limit, own)
	case errors.Is(err, coupon.ErrSoldOut):
		require.Equal(t, l.units, all)
	default:
		require.NoError(t, err)
		require.Less(t, own, l.limit)
		require.Less(t, all, l.units)
		require.NotContains(t, l.orders, o.ID)
		l.placed(r, o.ID)
	}
}

// move reports whether the answer to a payment or a cancellation is right, and notes it.
func (l *ledger) move(t *rapid.T, id, user int64, to order.Status, o order.Order, err error) {
	e := l.orders[id]
	switch {
	case e == nil || e.user != user:
		require.ErrorIs(t, err, order.ErrNotFound)
	case e.status == to, e.status == order.Pending && (to == order.Cancelled || !l.overdue(e)):
		require.NoError(t, err)
		e.status = to
		require.Equal(t, to, o.Status)
	default:
		require.ErrorIs(t, err, order.ErrConflict)
	}
}

// expire ends what is overdue and says how many that were.
func (l *ledger) expire() (n int) {
	for _, e := range l.orders {
		if l.overdue(e) {
			e.status = order.Expired
			n++
		}
	}
	return n
}

// mayBecome says which states an order of this one may be found in later (I9).
func (l *ledger) mayBecome(e *entry, later order.Status) bool {
	switch {
	case e.status == later:
		return true
	case e.status != order.Pending:
		return false
	case l.overdue(e):
		return later == order.Cancelled || later == order.Expired
	}
	return later == order.Cancelled || later == order.Paid
}
