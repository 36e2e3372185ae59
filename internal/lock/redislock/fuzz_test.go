package redislock

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func FuzzLockKey_AnyKey_IsUniqueInItsBucket(f *testing.F) {
	for _, key := range []string{"user:42", "user:18446744073709551616", "user:-1", "fence", ":fence", "", "a}b{c", "\x00"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		n := namesOf(key)
		require.NotEqual(t, n.fence, n.lock, "the counter is nobody's lock")
		require.True(t, strings.HasSuffix(n.lock, key))
		require.Less(t, bucketOf(key), uint64(buckets))
	})
}

func FuzzRemainingLease_AnyAnswer_IsNotNegative(f *testing.F) {
	f.Add(int64(-2))
	f.Add(int64(0))
	f.Fuzz(func(t *testing.T, ms int64) {
		require.GreaterOrEqual(t, heldFor("k", []any{int64(0), ms}).Remaining, time.Duration(0))
	})
}
