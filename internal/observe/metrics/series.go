package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// series finds the series of a metric by a key, without a lock and without the hashing of every label that a vector
// does for each observation. The zero series is empty. Its keys must be few: each new one copies all.
type series[K comparable, M any] struct {
	known atomic.Pointer[map[K]M]
	mu    sync.Mutex // held while one is added
}

// of returns the series of the key, which find finds in the metric's vector the first time.
func (s *series[K, M]) of(key K, find func() M) M {
	if known := s.known.Load(); known != nil {
		if m, ok := (*known)[key]; ok {
			return m
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[K]M{}
	if known := s.known.Load(); known != nil {
		maps.Copy(all, *known)
	}
	all[key] = find()
	s.known.Store(&all)
	return all[key]
}
