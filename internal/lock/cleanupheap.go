package lock

import "container/heap"

// cleanupHeap is a heap of abandoned keys: by their next try, or by the end of their lease.
type cleanupHeap struct {
	all   []*abandoned
	byEnd bool
}

// at returns where a keeps its index in the heap.
func (h *cleanupHeap) at(a *abandoned) *int {
	if h.byEnd {
		return &a.end
	}
	return &a.place
}

func (h *cleanupHeap) Len() int { return len(h.all) }

func (h *cleanupHeap) Less(i, j int) bool {
	if h.byEnd {
		return h.all[i].until.Before(h.all[j].until)
	}
	return h.all[i].before(h.all[j])
}

func (h *cleanupHeap) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	*h.at(h.all[i]), *h.at(h.all[j]) = i, j
}

func (h *cleanupHeap) Push(x any) {
	a := x.(*abandoned)
	*h.at(a) = len(h.all)
	h.all = append(h.all, a)
}

func (h *cleanupHeap) Pop() any {
	last := len(h.all) - 1
	a := h.all[last]
	h.all[last] = nil
	h.all = h.all[:last]
	return a
}

// cleanupsOf is the abandoned keys of one server, and the tries under way for them.
type cleanupsOf struct {
	name              string
	good, bad         cleanupHeap // keys that the server may answer for, and doubtful ones
	keys              int
	running, doubtful int // tries under way, and those of them for doubtful keys
}

// of returns the server of a name.
func (c *Cleaner) of(name string) *cleanupsOf {
	s := c.servers[name]
	if s == nil {
		s = &cleanupsOf{name: name}
		c.servers[name] = s
	}
	return s
}

// letGo forgets a server that has no keys and no tries.
func (c *Cleaner) letGo(s *cleanupsOf) {
	if s.keys == 0 && s.running == 0 && c.servers[s.name] == s {
		delete(c.servers, s.name)
	}
}

// first returns the key that the next slot is for; nil if there is none, or no slot.
func (s *cleanupsOf) first() *abandoned {
	var first *abandoned
	if s.running < maxCleanups && len(s.good.all) > 0 {
		first = s.good.all[0]
	}
	if s.running < maxCleanups && s.doubtful < maxDoubtful && len(s.bad.all) > 0 {
		if a := s.bad.all[0]; first == nil || a.before(first) {
			first = a
		}
	}
	return first
}

// count counts a try that begins (+1) or has ended (-1).
func (s *cleanupsOf) count(doubtful bool, n int) {
	s.running += n
	if doubtful {
		s.doubtful += n
	}
}

// file puts a key where it waits for its next try. A try that would come after the end of the lease is none.
func (a *abandoned) file() {
	a.unfile()
	if !a.due.Before(a.until) {
		return
	}
	a.in = &a.server.good
	if a.doubtful() {
		a.in = &a.server.bad
	}
	heap.Push(a.in, a)
}

func (a *abandoned) unfile() {
	if a.in != nil {
		heap.Remove(a.in, a.place)
		a.in = nil
	}
}
