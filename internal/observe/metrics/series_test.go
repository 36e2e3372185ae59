package metrics

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeries_ConcurrentFinders_ShareOneSeries(t *testing.T) {
	const keys, finders, times = 20, 8, 10
	var vector sync.Map // as a metric's is: the first who finds a series makes it
	var s series[int, *atomic.Int64]
	var all sync.WaitGroup
	for range finders {
		all.Go(func() {
			for i := range times * keys {
				key := i % keys
				s.of(key, func() *atomic.Int64 {
					made, _ := vector.LoadOrStore(key, new(atomic.Int64))
					return made.(*atomic.Int64) //nolint:forcetypeassert // nothing else is stored
				}).Add(1)
			}
		})
	}
	all.Wait()
	require.Len(t, *s.known.Load(), keys)
	for key := range keys {
		made, _ := vector.Load(key)
		require.EqualValues(t, finders*times, made.(*atomic.Int64).Load(), "of key %d", key) //nolint:forcetypeassert // the same
	}
}
