package store

import (
	"sync"
)

// commitQueue is where the members of the next groups wait, first come first served.
type commitQueue struct {
	mu      sync.Mutex
	waiting []*commitRequest
	workers int            // committers at work
	users   map[int64]bool // take's own: the users in the group that it makes
}

// push appends the requests of a call and reports whether there was room for all of them.
func (q *commitQueue) push(requests []*commitRequest, o GroupOptions) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting)+len(requests) > o.MaxWaiting {
		return false
	}
	q.waiting = append(q.waiting, requests...)
	return true
}

// startWorker reports whether the caller should start another committer. A committer whose
// nextGroup is empty must exit.
func (q *commitQueue) startWorker(o GroupOptions) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.workers >= o.Committers || len(q.waiting) == 0 {
		return false
	}
	q.workers++
	return true
}

// nextGroup returns the next group: the requests that have waited longest, but at most one
// of each user, because in one transaction neither would see the other's order. Requests
// that have left are dropped. After an empty group the committer must exit.
func (q *commitQueue) nextGroup(o GroupOptions) []*commitRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.users == nil {
		q.users = map[int64]bool{}
	}
	clear(q.users)
	group := make([]*commitRequest, 0, min(o.MaxOrders, len(q.waiting)))
	later := q.waiting[:0]
	for _, m := range q.waiting {
		switch {
		case m.state.Load() == abandoned:
			continue
		case len(group) == o.MaxOrders, q.users[m.Order.UserID]:
			later = append(later, m)
			continue
		case !m.state.CompareAndSwap(inQueue, inGroup):
			continue
		}
		q.users[m.Order.UserID] = true
		group = append(group, m)
	}
	clear(q.waiting[len(later):])
	q.waiting = later
	if len(group) == 0 {
		q.workers--
	}
	return group
}
