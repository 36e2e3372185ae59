package order

import (
	"context"
	"errors"
	"time"

	"example.com/seckill/internal/coupon"
)

// The steps of queue.go are done for many at once, too, each once for all of them:
//
//	requests ─▶ batch ─▶ RESERVE many, each with its entry ─▶ put unresolved many ─▶ answers
//
//	entries  ─▶ batch ─▶ LOCK many ─▶ BEGIN … COMMIT ─▶ UNLOCK many ─▶ CONFIRM many ─▶ ACKNOWLEDGE many
//
// As in batch.go each has an outcome of its own, and one for which a step is not plain goes on
// alone, as queue.go says. An entry is acknowledged here only if its order is committed under
// its own id: a refusal is decided by a void order, and that is done alone.

// enqueueInBatch queues the request of o with others.
func (s *Service) enqueueInBatch(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	m := &member{ctx: ctx, sale: sale, order: o, left: make(chan struct{})}
	s.batches.join(m)
	switch {
	case m.next == toReserve:
		return s.enqueueAlone(ctx, sale, o)
	case m.err != nil:
		return Order{}, m.err
	}
	return s.nowQueued(m.order), nil
}

// enqueueBatch does for many requests what enqueueAlone does for one. A request that was made
// before goes alone: its order may be among the unresolved ones already.
func (s *Service) enqueueBatch(b batch) {
	defer s.leaveAfterPanic(b)
	ctx, cancel := b.context()
	defer cancel()
	var queued batch
	var orders []Order
	for i, r := range s.stock.ReserveMany(ctx, b.requests(s.enqueueRequest)) {
		m := b[i]
		switch {
		case errors.Is(r.Err, ErrAlone), r.Err == nil && r.Hold.OrderID != m.order.ID:
			m.leave(toReserve, nil)
		case r.Err != nil:
			m.leave(toAnswer, r.Err)
		default:
			m.order = queuedOrder(m.order, r.Hold)
			queued, orders = append(queued, m), append(orders, m.order)
		}
	}
	if len(queued) == 0 {
		return
	}
	for i, err := range s.unresolved.PutUnresolvedMany(ctx, orders) {
		queued[i].leave(toAnswer, err)
	}
}

// serveBatch does for many entries what serve does for one, each in the context of its attempt,
// and reports of which it has done all: the others are left to serve, whatever was done of them.
func (s *Service) serveBatch(ctx context.Context, entries []Entry, attempts []context.Context, maxAge time.Duration) []bool {
	var b batch
	at := map[*member]int{} // their indexes in entries
	for i, e := range entries {
		sale, err := s.sales.Get(ctx, e.Order.CouponID)
		if err != nil || s.now().Sub(e.Order.CreatedAt) >= maxAge {
			continue
		}
		sale.Epoch = e.Hold.Epoch // as in serve
		m := &member{ctx: attempts[i], sale: sale, order: e.Order, hold: e.Hold, left: make(chan struct{})}
		at[m] = i
		b = append(b, m)
	}
	served := make([]bool, len(entries))
	if len(b) == 0 {
		return served
	}
	var sold []int
	var holds []Hold
	began := time.Now()
	for _, m := range s.sellBatch(ctx, b) {
		s.polls.end(m.order, began)
		sold, holds = append(sold, at[m]), append(holds, m.hold)
	}
	var confirmed []int
	var done []Entry
	for n, err := range s.stock.ConfirmMany(ctx, holds) {
		if err == nil {
			confirmed, done = append(confirmed, sold[n]), append(done, entries[sold[n]])
		}
	}
	for n, err := range s.queue.AckCommittedMany(ctx, done) {
		served[confirmed[n]] = err == nil
	}
	return served
}
