package stock

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func FuzzEvent_AnyEvent_RoundTrips(f *testing.F) {
	for _, s := range []string{"changed 7", "returned 9223372036854775807", "changed", " 1", "changed  7", "changed 7 8", "x -1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseEvent(text)
		if err != nil {
			require.Contains(t, err.Error(), "event ")
			return
		}
		require.NotContains(t, e.what, " ")
		again, err := parseEvent(e.String())
		require.NoError(t, err)
		require.Equal(t, e, again)
	})
}

func FuzzUnresolvedOrder_AnyValue_RoundTrips(f *testing.F) {
	f.Add(encodeOrder(order.Order{ID: 7, UserID: 8, Status: order.InDoubt, RequestID: "k1", CreatedAt: time.Unix(1e9, 0).UTC()}), int64(7))
	f.Add(encodeOrder(order.Order{ID: 8, Fence: 1<<64 - 1, Slot: 1, Position: order.QueuePosition{Epoch: 1, Number: 2, Ahead: 3}}), int64(8))
	f.Add("7 1 1 1 1 1 -1 1 1 1 1 1 queued r", int64(7))
	f.Add("7", int64(7))
	f.Add("", int64(0))
	f.Fuzz(func(t *testing.T, text string, id int64) {
		o, err := parseUnresolved(text, id)
		if err != nil {
			require.Contains(t, err.Error(), "ticket of order ")
			return
		}
		require.Equal(t, id, o.ID)
		again, err := parseUnresolved(encodeOrder(o), id)
		require.NoError(t, err)
		require.True(t, o.CreatedAt.Equal(again.CreatedAt) && o.ExpiresAt.Equal(again.ExpiresAt))
		again.CreatedAt, again.ExpiresAt = o.CreatedAt, o.ExpiresAt
		require.Equal(t, o, again)
	})
}

func FuzzOrderReply_AnyReply_NamesOrderOrIsRefused(f *testing.F) {
	for _, s := range []string{"HELD|7", "MARKED|", "HELD", "", "HELD|7|8", "HELD|7|8|9", "HELD|07", "HELD|9223372036854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		answer := strings.Split(text, "|")
		if _, _, _, err := parseHeldOrder(answer); err != nil {
			require.Contains(t, err.Error(), "answer")
			return
		}
		require.Contains(t, []int{2, 4}, len(answer))
	})
}

func FuzzInstanceStatus_AnyStatus_RoundTrips(f *testing.F) {
	f.Add("1,2,3", "1795248100708-0")
	f.Add(",x,99999999999999999999", "")
	f.Add("-1", "x-1")
	f.Fuzz(func(t *testing.T, ids, entry string) {
		read := split(ids)
		require.Equal(t, read, split(join(read)))
		_ = queuedAt(entry) // whatever it is called
	})
}

func FuzzMemberReply_AnyReply_IsHoldRefusalOrUnreadable(f *testing.F) {
	for _, s := range []string{"HELD 7", "HELD 7 3 1", "MARKED 7", "MARKED 7 0 0", "EMPTY", "LIMIT", "DUPLICATE 7", "", "HELD", "HELD x", "NONE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := order.ReserveRequest{CouponID: 1, UserID: 2, RequestID: "r", OrderID: 3, Epoch: 1, Shards: 1}
		h, err := unmarked(reserved(c, 0, strings.Fields(text)))
		if err == nil {
			require.Contains(t, []int{2, 4}, len(strings.Fields(text)), "it names the order")
			require.Equal(t, c.OrderID, h.Attempt)
		}
	})
}
