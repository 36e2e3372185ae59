package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"example.com/seckill/internal/order"
)

// orderLoader reads orders, by their ids or by their requests, for many callers in common
// statements: what is asked for while a read is under way is the next one. A buyer whose
// request is queued asks again and again, and of a crowd that is told "sold out" each may
// have an order from before: a statement for each would be most of what they cost.
//
//	Get ─▶ waiting ─┐
//	Get ─▶ waiting ─┤ SELECT … of each id and its user
//	Get ─▶ waiting ─┘   └▶ each is answered with its own row
//
// No query is answered from a statement that had begun before it was made, so a caller
// that has seen a commit finds its order here. A caller that leaves does not end the
// read of another.
type orderLoader struct {
	keyOf      func(orderRow) any // the part of the key beside the user
	read       func(ctx context.Context, of []*orderQuery) ([]orderRow, error)
	timeout    time.Duration // of one statement
	mu         sync.Mutex
	waiting    []*orderQuery
	maxReaders int // readers at once
	readers    int
	lastStart  time.Time // the latest statement
}

// orderQuery is one caller's question.
type orderQuery struct {
	key   orderKey
	order order.Order
	err   error
	done  chan struct{}
}

// orderKey is an order's id or its request's, and the owner, which is part of the query.
type orderKey struct {
	id   any
	user int64
}

const (
	keysPerStatement = 128 // orders of one statement
	// One reader makes the largest groups. A statement that hangs must not keep the others
	// waiting, so when one takes long another goes beside it.
	maxLoaderReaders, slowRead = 4, 20 * time.Millisecond
)

// load waits for the answer, or until ctx ends.
func (l *orderLoader) load(ctx context.Context, id any, userID int64) (order.Order, error) {
	if err := ctx.Err(); err != nil {
		return order.Order{}, wrap(err, "read an order")
	}
	q := &orderQuery{key: orderKey{id, userID}, done: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, q)
	l.mu.Unlock()
	l.startReader()
	slow := time.NewTimer(2 * slowRead)
	defer slow.Stop()
	for {
		select {
		case <-q.done:
			return q.order, q.err
		case <-slow.C:
			l.startReader()
		case <-ctx.Done():
			return order.Order{}, wrap(ctx.Err(), "read an order")
		}
	}
}

// startReader lets one more reader begin, if there is none or the others take long.
func (l *orderLoader) startReader() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 && (l.readers == 0 || l.readers < l.maxReaders && time.Since(l.lastStart) > slowRead) {
		l.readers, l.lastStart = l.readers+1, time.Now()
		go l.run()
	}
}

// run reads batches until no query waits.
func (l *orderLoader) run() {
	for of := l.nextBatch(); len(of) > 0; of = l.nextBatch() {
		l.process(of)
	}
}

// nextBatch returns the queries that have waited longest. After none the reader must exit.
func (l *orderLoader) nextBatch() []*orderQuery {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), keysPerStatement)
	of := l.waiting[:n:n]
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	if n == 0 {
		l.readers--
	}
	l.lastStart = time.Now()
	return of
}

func (l *orderLoader) process(of []*orderQuery) {
	defer answerAfterPanic(of)
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	rows, err := l.read(ctx, of)
	found := make(map[orderKey]order.Order, len(rows))
	for _, row := range rows {
		found[orderKey{l.keyOf(row), row.UserID}] = row.order()
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

// answerAfterPanic is deferred by what answers queries: those that it has not answered fail with the panic.
func answerAfterPanic(of []*orderQuery) {
	p := recover()
	if p == nil {
		return
	}
	for _, q := range of {
		select {
		case <-q.done:
		default:
			q.err = fmt.Errorf("read an order: panic: %v\n%s", p, debug.Stack())
			close(q.done)
		}
	}
}

// readOrders is the statement.
func (s *Store) readOrders(by rowKey) func(ctx context.Context, of []*orderQuery) ([]orderRow, error) {
	return func(ctx context.Context, of []*orderQuery) (rows []orderRow, err error) {
		args := make([]any, 0, 2*len(of))
		for _, q := range of {
			args = append(args, q.key.id, q.key.user)
		}
		err = s.read.WithContext(ctx).Raw(by.selectSQL(s.dialect, orderColumns, len(of)), args...).Scan(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("%d orders: %w", len(of), err)
		}
		return rows, nil
	}
}

// initLoaders makes the lookups of a store.
func (s *Store) initLoaders() {
	s.byID = orderLoader{keyOf: func(r orderRow) any { return r.ID }, read: s.readOrders(orderByID)}
	s.byRequest = orderLoader{keyOf: func(r orderRow) any { return r.RequestID }, read: s.readOrders(orderByRequest)}
	for _, l := range []*orderLoader{&s.byID, &s.byRequest} {
		l.timeout, l.maxReaders = s.txTimeout, maxLoaderReaders
	}
}
