package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func TestRetryAfter_OrderUndecided_SetsHeader(t *testing.T) {
	waits := func(status order.Status, again time.Duration) orderJSON {
		return showOrder(order.Order{ID: 7, Status: status, Position: order.QueuePosition{Ahead: 2, RetryAfter: again}})
	}
	for name, tc := range map[string]struct {
		answer headerWriter
		status int
		after  string
	}{
		"queued just now, the wait is not known": {placed{waits(order.Queued, 0)}, 202, "1"},
		"queued just now":                        {placed{waits(order.Queued, 2100*time.Millisecond)}, 202, "3"},
		"still queued":                           {orderView{waits(order.Queued, 2*time.Second)}, 200, "2"},
		"in doubt":                               {orderView{waits(order.InDoubt, 0)}, 200, "1"},
		"an order":                               {orderView{waits(order.Pending, 0)}, 200, ""},
		"a new order":                            {placed{waits(order.Pending, 0)}, 201, ""},
		"abandoned":                              {orderView{waits(order.Void, 0)}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			require.Equal(t, tc.status, tc.answer.writeHeader(h))
			require.Equal(t, tc.after, h.Get("Retry-After"))
		})
	}
	require.EqualValues(t, 3, waits(order.Queued, 0).Position)
}

// The database's word for the row that takes an order's place is not the client's word for its request.
func TestShowOrder_VoidRow_IsAbandoned(t *testing.T) {
	require.EqualValues(t, "abandoned", showOrder(order.Order{ID: 7, Status: order.Void}).Status)
	for _, same := range []order.Status{order.Pending, order.Paid, order.Cancelled, order.Expired, order.InDoubt, order.Queued} {
		require.Equal(t, same, showOrder(order.Order{ID: 7, Status: same}).Status)
	}
}
