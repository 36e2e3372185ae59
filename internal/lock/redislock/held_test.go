package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRemainingLease_AboutToEnd_IsNotEndless(t *testing.T) {
	for name, tc := range map[string]struct {
		said int64
		want time.Duration
	}{
		"it never ends":       {-1, 0},
		"less than 1 ms left": {0, time.Millisecond},
		"a second left":       {1000, 1001 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, heldFor("k", []any{int64(0), tc.said}).Remaining)
		})
	}
}
