package lock_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

func TestUserKey_AnyID_RoundTrips(t *testing.T) {
	for _, id := range []int64{1, 42, math.MaxInt64} {
		got, ok := lock.UserOf(lock.UserKey(id))
		require.True(t, ok)
		require.Equal(t, uint64(id), got)
	}
	for _, key := range []string{"", "42", "job:relay", "user:", "user:x", "user:-1", "a user:1"} {
		_, ok := lock.UserOf(key)
		require.False(t, ok, key)
	}
}
