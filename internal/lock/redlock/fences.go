package redlock

import (
	"sync"
	"time"
)

// fences remembers the fence of each grant of this process, so that a repeat of the
// call gives the same one. An entry goes with the release, or with the lease.
type fences struct {
	mu    sync.Mutex
	given map[holder]*given
}

type holder struct{ key, token string }

type given struct {
	fence uint64
	end   *time.Timer
}

func (f *fences) remember(h holder, fence uint64, lease time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.given[h]; old != nil {
		old.end.Stop()
	}
	g := &given{fence: fence}
	g.end = time.AfterFunc(lease, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.given[h] == g {
			delete(f.given, h)
		}
	})
	f.given[h] = g
}

// recall is the fence of a grant that was repeated, or renewed, and lasts from now.
func (f *fences) recall(h holder, lease time.Duration) (uint64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.given[h]
	if g == nil {
		return 0, false
	}
	g.end.Reset(lease)
	return g.fence, true
}

func (f *fences) forget(h holder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g := f.given[h]; g != nil {
		g.end.Stop()
		delete(f.given, h)
	}
}
