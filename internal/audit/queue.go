package audit

import (
	"context"

	"seckill/internal/order"
)

// waiting reads for which orders each shard's queue has an entry.
func (a *Auditor) waiting(ctx context.Context, couponID int64, shards int) ([]map[int64]bool, error) {
	all := make([]map[int64]bool, shards)
	for k := range all {
		var err error
		if all[k], err = a.shards.Waiting(ctx, couponID, k); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// inQueue counts the open holds of queued requests, and those among them whose entry is
// gone although no row has ended them: somebody acknowledged too early.
func (e evidence) inQueue() (queued, dropped int) {
	for k, s := range e.shards {
		for _, h := range s.Holds {
			if !h.Queued || !h.Unit || e.ended(h.RequestID) {
				continue
			}
			if queued++; !e.waiting[k][h.OrderID] {
				dropped++
			}
		}
	}
	return queued, dropped
}

// ended says whether a request has its row: an order, or a void one.
func (e evidence) ended(request string) bool {
	o, known := e.books.Requests[request]
	return known && (o.Status == order.Void || o.ID != 0)
}
