package stock

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// What a shard says of itself is read whole or refused, and numbers alone are numbers.
func FuzzReply_AnyReply_IsReadOrRefused(f *testing.F) {
	for _, s := range []string{"1 2 3 4 5 6", "1 2  4 5 6", "a b c d e f", "1 2 3", "", "1 2 -3 4 5 9223372036854775808", "MOVED id a,b here 000 7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		answer := strings.Split(text, " ")
		if shard, err := parseShard(answer); err == nil {
			require.Len(t, answer, 6)
			require.Equal(t, answer[2] != "", shard.Open)
		}
		if m, err := parseMoved(3, answer); err == nil {
			require.Len(t, answer, 6)
			require.Equal(t, 3, m.shard)
			require.NotEmpty(t, m.masters)
		}
	})
}

// An entry of a queue is of the shard that it was read from, and of an order of a user, or it is refused.
func FuzzEntry_AnyEntry_IsOfItsShardOrRefused(f *testing.F) {
	for _, s := range [][3]string{
		{"11", "12", "5 4 11 7 9 990 1700000000000 1700000900000 pending r1"},
		{"11", "12", "5 4 "},
		{"", "", ""},
		{"x", "1", "5 4 1"},
		{"1", "2", "5 1 1 7 9 0 0 0 queued r"},
		{"-1", "9223372036854775808", "0 0"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, id, attempt, entry string) {
		const coupon, shard = 7, 2
		e, err := parseEntry(redis.XMessage{ID: "1-1", Values: map[string]any{"order": id, "attempt": attempt, "entry": entry}}, coupon, shard)
		if err != nil {
			require.Contains(t, err.Error(), "1-1")
			return
		}
		require.NotZero(t, e.Order.ID)
		require.NotZero(t, e.Order.UserID)
		require.EqualValues(t, coupon, e.Order.CouponID)
		require.NotEmpty(t, e.Order.RequestID)
		require.Greater(t, e.Hold.Shards, shard)
		require.Equal(t, e.Order.ID, e.Hold.OrderID)
	})
}
