package store

import (
	"sync"
)

// queue is where the members of the next groups wait, first come first served.
type queue struct {
	mu      sync.Mutex
	waiting []*member
	hired   int            // committers at work
	served  map[int64]bool // take's own: the users in the group that it makes
}

// join lets m wait, unless too many do.
func (q *queue) join(m *member, o GroupOptions) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= o.Queue {
		return false
	}
	q.waiting = append(q.waiting, m)
	return true
}

// hire says whether one more committer should begin. take dismisses it.
func (q *queue) hire(o GroupOptions) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hired >= o.Committers || len(q.waiting) == 0 {
		return false
	}
	q.hired++
	return true
}

// take gives the next group: those who have waited longest, but one of each user.
// Two of one user do not belong in one transaction, where neither would see the
// other's order. Those who have left are dropped. An empty group dismisses the
// committer that asked.
func (q *queue) take(o GroupOptions) []*member {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.served == nil {
		q.served = map[int64]bool{}
	}
	clear(q.served)
	group := make([]*member, 0, min(o.Size, len(q.waiting)))
	later := q.waiting[:0]
	for _, m := range q.waiting {
		switch {
		case m.state.Load() == hasLeft:
			continue
		case len(group) == o.Size, m.named && q.served[m.user]:
			later = append(later, m)
			continue
		case !m.state.CompareAndSwap(inQueue, inGroup):
			continue
		}
		if m.named {
			q.served[m.user] = true
		}
		group = append(group, m)
	}
	clear(q.waiting[len(later):])
	q.waiting = later
	if len(group) == 0 {
		q.hired--
	}
	return group
}
