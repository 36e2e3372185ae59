package stock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// flagged is a set of flags whose clock stands, and the way to move it.
func flagged() (f *flags, pass func(time.Duration)) {
	f = newFlags(time.Second)
	now := time.Unix(1000, 0)
	f.now = func() time.Time { return now }
	return f, func(d time.Duration) { now = now.Add(d) }
}

func TestAFlagFallsByItself(t *testing.T) {
	f, pass := flagged()
	require.False(t, f.up(1, 1))
	f.raise(1, 1, f.version(1))
	pass(time.Second - 1)
	require.True(t, f.up(1, 1))
	pass(1)
	require.False(t, f.up(1, 1))
	f.raise(1, 1, f.version(1))
	require.True(t, f.up(1, 1), "seen empty again")
}

func TestAFlagIsOfOneCouponAndEpoch(t *testing.T) {
	f, _ := flagged()
	f.raise(1, 3, f.version(1))
	require.True(t, f.up(1, 3))
	require.False(t, f.up(1, 4))
	require.False(t, f.up(2, 3))
	f.lower(2)
	require.True(t, f.up(1, 3))
}

func TestAFlagFallsWhenAUnitComesBack(t *testing.T) {
	f, _ := flagged()
	f.raise(1, 1, f.version(1))
	f.lower(1)
	require.False(t, f.up(1, 1))
}

func TestALookFromBeforeAReturnRaisesNoFlag(t *testing.T) {
	f, _ := flagged()
	before := f.version(1)
	f.lower(1)
	f.raise(1, 1, before)
	require.False(t, f.up(1, 1))
	after := f.version(1)
	f.raise(1, 1, after)
	require.True(t, f.up(1, 1))
	f.raise(1, 1, before)
	f.lower(1)
	f.raise(1, 1, after)
	require.False(t, f.up(1, 1), "two returns are told apart")
}
