package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/gather"
)

// orderLoader reads orders, by their ids or by their requests, for many callers in common
// statements: the queries that arrive during a read share the next one. A buyer whose request is queued polls again and
// again, and each buyer who gets the answer sold_out may have an earlier order. A statement for each would be most of
// their cost.
//
//	Get ─▶ waiting ─┐
//	Get ─▶ waiting ─┤ SELECT … of each id and its user
//	Get ─▶ waiting ─┘   └▶ each is answered with its own row
//
// No query is answered from a statement that had begun before it was made, so a caller
// that has seen a commit finds its order here. A caller that leaves does not end the
// read of another.
type orderLoader struct {
	keyOf   func(orderRow) any // the part of the key without the user
	read    func(ctx context.Context, of []*orderQuery) ([]orderRow, error)
	timeout time.Duration // of one statement
	queries *gather.Gatherer[*orderQuery]
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
	// One read at a time has the largest statements. A statement that hangs must not keep the others
	// waiting, so another begins when one takes long.
	maxReads, slowRead = 4, 20 * time.Millisecond
)

// load waits for the answer, or until ctx ends.
func (l *orderLoader) load(ctx context.Context, id any, userID int64) (order.Order, error) {
	if err := ctx.Err(); err != nil {
		return order.Order{}, wrap(err, "read an order")
	}
	q := &orderQuery{key: orderKey{id, userID}, done: make(chan struct{})}
	l.queries.Add(q)
	select {
	case <-q.done:
		return q.order, q.err
	case <-ctx.Done():
		return order.Order{}, wrap(ctx.Err(), "read an order")
	}
}

// process answers the queries of one statement.
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

// newLoader returns a lookup of orders by a key.
func (s *Store) newLoader(by rowKey, keyOf func(orderRow) any) *orderLoader {
	l := &orderLoader{keyOf: keyOf, read: s.readOrders(by), timeout: s.txTimeout}
	l.gather(maxReads)
	return l
}

// gather bounds the statements in progress.
func (l *orderLoader) gather(atOnce int) {
	l.queries = gather.New(gather.Options[*orderQuery]{
		Serve: l.process, Size: keysPerStatement, AtOnce: atOnce,
		Another: func(_, _ int, since time.Duration) bool { return since > slowRead },
	})
}
