package history

import "sync"

// register is the database in small: it takes no write with a fence smaller than
// one that it has seen.
type register struct {
	mu   sync.Mutex
	seen map[string]int64
}

func (r *register) write(key string, fence int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fence < r.seen[key] {
		return false
	}
	r.seen[key] = fence
	return true
}
