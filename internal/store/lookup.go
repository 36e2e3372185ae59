package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"seckill/internal/order"
)

// lookups reads orders, by their ids or by their requests, for many callers in common
// statements: what is asked for while a read is under way is the next one. A buyer whose
// request is queued asks again and again, and of a crowd that is told "sold out" each may
// have an order from before: a statement for each would be most of what they cost.
//
//	Get ─▶ waiting ─┐
//	Get ─▶ waiting ─┤ SELECT … WHERE id = ? AND user_id = ? OR …
//	Get ─▶ waiting ─┘   └▶ each is answered with its own row
//
// Nobody is answered from a statement that had begun before he asked: whoever has seen
// a commit sees it here. A caller who leaves ends nobody else's read.
type lookups struct {
	by      func(orderRow) any // the part of the key beside the user
	read    func(ctx context.Context, of []*lookup) ([]orderRow, error)
	within  time.Duration // of one statement
	mu      sync.Mutex
	waiting []*lookup
	most    int // readers at once
	readers int
	began   time.Time // the latest statement
}

// lookup is one caller's question.
type lookup struct {
	key   orderKey
	order order.Order
	err   error
	done  chan struct{}
}

// orderKey is an order's id or its request's, and the owner, who is part of the question.
type orderKey struct {
	id   any
	user int64
}

const (
	lookupSize = 128 // orders of one statement
	// One reader makes the largest groups. A statement that hangs must not keep the others
	// waiting, so when one takes long another goes beside it.
	readersAtOnce, longRead = 4, 20 * time.Millisecond
)

// get waits for the answer, or until ctx ends.
func (l *lookups) get(ctx context.Context, id any, userID int64) (order.Order, error) {
	if err := ctx.Err(); err != nil {
		return order.Order{}, wrap(err, "read an order")
	}
	q := &lookup{key: orderKey{id, userID}, done: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, q)
	l.mu.Unlock()
	l.hire()
	slow := time.NewTimer(2 * longRead)
	defer slow.Stop()
	for {
		select {
		case <-q.done:
			return q.order, q.err
		case <-slow.C:
			l.hire()
		case <-ctx.Done():
			return order.Order{}, wrap(ctx.Err(), "read an order")
		}
	}
}

// hire lets one more reader begin, if there is none or the others take long.
func (l *lookups) hire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 && (l.readers == 0 || l.readers < l.most && time.Since(l.began) > longRead) {
		l.readers, l.began = l.readers+1, time.Now()
		go l.work()
	}
}

// work reads until nobody waits.
func (l *lookups) work() {
	for {
		of := l.take()
		if len(of) == 0 {
			return
		}
		l.serve(of)
	}
}

// take gives those who have waited longest; none dismisses the reader.
func (l *lookups) take() []*lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), lookupSize)
	of := l.waiting[:n:n]
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	if n == 0 {
		l.readers--
	}
	l.began = time.Now()
	return of
}

func (l *lookups) serve(of []*lookup) {
	ctx, cancel := context.WithTimeout(context.Background(), l.within)
	defer cancel()
	rows, err := l.read(ctx, of)
	found := make(map[orderKey]order.Order, len(rows))
	for _, row := range rows {
		found[orderKey{l.by(row), row.UserID}] = row.order()
	}
	for _, q := range of {
		o, there := found[q.key]
		switch {
		case err != nil:
			q.err = wrap(err, "read an order")
		case !there:
			q.err = order.ErrNotFound
		default:
			q.order = o
		}
		close(q.done)
	}
}

// each names the columns of a key together for n rows, so that it is a look at one row in
// one partition each.
func each(column string, n int) string {
	one := "(" + column + " = ? AND user_id = ?)"
	return strings.Repeat(one+" OR ", n-1) + one
}

// readOrders is the statement.
func (s *Store) readOrders(column string) func(ctx context.Context, of []*lookup) ([]orderRow, error) {
	return func(ctx context.Context, of []*lookup) (rows []orderRow, err error) {
		args := make([]any, 0, 2*len(of))
		for _, q := range of {
			args = append(args, q.key.id, q.key.user)
		}
		err = s.read.WithContext(ctx).Where(each(column, len(of)), args...).Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("%d orders: %w", len(of), err)
		}
		return rows, nil
	}
}

// lookUp makes the lookups of a store.
func (s *Store) lookUp() {
	s.lookups = lookups{by: func(r orderRow) any { return r.ID }, read: s.readOrders("id")}
	s.requests = lookups{by: func(r orderRow) any { return r.RequestID }, read: s.readOrders("request_id")}
	for _, l := range []*lookups{&s.lookups, &s.requests} {
		l.within, l.most = s.txTimeout, readersAtOnce
	}
}
