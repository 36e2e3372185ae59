package lock

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// queue lets one goroutine of this process at a time into a key, first come
// first served. It talks to no server. A key has an entry only while a caller
// is inside.
type queue struct {
	mu   sync.Mutex
	keys map[string]*list.List // of *place
}

// place is a caller's place in the queue of its key.
type place struct {
	request
	token string    // what it asks the server with
	turn  chan turn // has room for one
}

func newPlace(r request, token string) *place {
	return &place{request: r, token: token, turn: make(chan turn, 1)}
}

// turn is what the first in line is handed by the caller before it: its turn to ask the
// server, or the key itself.
type turn struct {
	passed bool // the key is the caller's
	grant  Grant
	start  time.Time // of the call that passed it
	inARow int       // how often it was passed since another process could take it

	again   bool // a call that passes the key to the caller may yet arrive
	giveWay bool // other processes are to ask first
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

// enter enters the queue behind earlier callers and waits for p's turn. It returns ctx's error
// or ErrClosed if one of them ended the wait; then nothing of the caller is left but
// what its turn may say.
func (q *queue) enter(ctx context.Context, p *place, closing <-chan struct{}) (turn, error) {
	q.mu.Lock()
	line, busy := q.keys[p.key]
	if !busy {
		q.keys[p.key] = nil
		q.mu.Unlock()
		return turn{}, nil
	}
	if line == nil {
		line = list.New()
		q.keys[p.key] = line
	}
	at := line.PushBack(p)
	q.mu.Unlock()

	var err error
	select {
	case t := <-p.turn:
		return t, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closing:
		err = ErrClosed
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case t := <-p.turn: // it came in the same moment: the next one's
		q.next(p.key, turn{})
		return t, err
	default:
		line.Remove(at)
	}
	return turn{}, err
}

// first returns the first in line and leaves it there; nil if there is none.
func (q *queue) first(key string) *place {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.front(key)
}

func (q *queue) front(key string) *place {
	if line := q.keys[key]; line != nil && line.Len() > 0 {
		return line.Front().Value.(*place)
	}
	return nil
}

// leave lets the first in line in, with t.
func (q *queue) leave(key string, t turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next(key, t)
}

// leaveTo is leave with a turn for p alone, and reports whether p has it. If p has left
// the line meanwhile, the one behind it has its turn to ask.
func (q *queue) leaveTo(p *place, t turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.front(p.key) != p {
		q.next(p.key, turn{})
		return false
	}
	q.next(p.key, t)
	return true
}

func (q *queue) next(key string, t turn) {
	p := q.front(key)
	if p == nil {
		delete(q.keys, key)
		return
	}
	q.keys[key].Remove(q.keys[key].Front())
	p.turn <- t
}
