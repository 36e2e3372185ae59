package stock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// flagged is a set of flags whose clock stands, and the way to move it.
func flagged() (f *soldOutCache, pass func(time.Duration)) {
	f = newSoldOutCache(time.Second)
	now := time.Unix(1000, 0)
	f.now = func() time.Time { return now }
	return f, func(d time.Duration) { now = now.Add(d) }
}

func TestSoldOutFlag_AfterItsTime_Falls(t *testing.T) {
	f, pass := flagged()
	require.False(t, f.has(1, 1))
	f.add(1, 1, f.version(1))
	pass(time.Second - 1)
	require.True(t, f.has(1, 1))
	pass(1)
	require.False(t, f.has(1, 1))
	f.add(1, 1, f.version(1))
	require.True(t, f.has(1, 1), "seen empty again")
}

func TestSoldOutFlag_OtherCouponOrEpoch_IsNotSet(t *testing.T) {
	f, _ := flagged()
	f.add(1, 3, f.version(1))
	require.True(t, f.has(1, 3))
	require.False(t, f.has(1, 4))
	require.False(t, f.has(2, 3))
	f.clear(2)
	require.True(t, f.has(1, 3))
}

func TestSoldOutFlag_UnitReturned_Falls(t *testing.T) {
	f, _ := flagged()
	f.add(1, 1, f.version(1))
	f.clear(1)
	require.False(t, f.has(1, 1))
}

func TestSoldOutFlag_ReadBeforeReturn_IsNotSet(t *testing.T) {
	f, _ := flagged()
	before := f.version(1)
	f.clear(1)
	f.add(1, 1, before)
	require.False(t, f.has(1, 1))
	after := f.version(1)
	f.add(1, 1, after)
	require.True(t, f.has(1, 1))
	f.add(1, 1, before)
	f.clear(1)
	f.add(1, 1, after)
	require.False(t, f.has(1, 1), "two returns are told apart")
}
