package lock

import (
	"container/list"
	"context"
	"sync"
)

// queue lets one goroutine of this process at a time into a key, first come
// first served. It talks to no server. A key has an entry only while a caller
// is inside.
type queue struct {
	mu   sync.Mutex
	keys map[string]*list.List // of chan struct{}, closed to hand the key over
}

func newQueue() *queue { return &queue{keys: map[string]*list.List{}} }

// tryEnter enters and reports whether no caller was inside.
func (q *queue) tryEnter(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, busy := q.keys[key]; busy {
		return false
	}
	q.keys[key] = nil
	return true
}

// enter enters the queue behind earlier callers and waits. It returns ctx's error
// or ErrClosed if one of them ended the wait; then nothing of the caller is left.
func (q *queue) enter(ctx context.Context, key string, closing <-chan struct{}) error {
	q.mu.Lock()
	line, busy := q.keys[key]
	if !busy {
		q.keys[key] = nil
		q.mu.Unlock()
		return nil
	}
	if line == nil {
		line = list.New()
		q.keys[key] = line
	}
	turn := make(chan struct{})
	place := line.PushBack(turn)
	q.mu.Unlock()

	var err error
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closing:
		err = ErrClosed
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-turn: // handed over in the same moment: pass it on
		q.next(key)
	default:
		line.Remove(place)
	}
	return err
}

// leave hands the key to the first in line.
func (q *queue) leave(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next(key)
}

func (q *queue) next(key string) {
	line := q.keys[key]
	if line == nil || line.Len() == 0 {
		delete(q.keys, key)
		return
	}
	close(line.Remove(line.Front()).(chan struct{}))
}
