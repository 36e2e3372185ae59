package tracing

import (
	"context"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"example.com/seckill/internal/order"
)

// transaction is the name of the span from begin to commit, waiting for a group included.
const transaction = "transaction"

// Database makes a span of each transaction.
func (t *Traces) Database(db order.Database) order.Database {
	if t == nil {
		return db
	}
	return tracedDatabase{db, t}
}

type tracedDatabase struct {
	order.Database
	t *Traces
}

func (x tracedDatabase) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	if !traced(ctx) {
		return x.Database.InTx(ctx, work)
	}
	ctx, span := x.t.step(ctx, transaction, client)
	err := x.Database.InTx(ctx, work)
	end(span, err)
	return err
}

// commit makes a span of the transaction for each order, in the order's trace. The context of an attempt goes with it:
// Transaction links the span to the transaction that the order shares with others.
func (t *Traces) commit(ctx context.Context, all []*order.Attempt, do func(ctx context.Context)) {
	spans, requests := make([]trace.Span, len(all)), make([]context.Context, len(all))
	for i, a := range all {
		if requests[i] = a.Context; traced(a.Context) {
			a.Context, spans[i] = t.step(a.Context, transaction, client) //nolint:fatcontext // each is its attempt's own
		}
	}
	do(ctx)
	for i, span := range spans {
		if span != nil {
			end(span, all[i].Err)
			all[i].Context = requests[i] //nolint:fatcontext // as above
		}
	}
}

// Transaction is told of a transaction that has ended, before its orders are answered. If one of them is
// traced, it makes a span of the transaction, a trace of its own, and links both ways: from the
// transaction to the spans of its orders, and from each of these to the transaction.
func (t *Traces) Transaction(all []*order.Attempt, began time.Time, err error) {
	var links []trace.Link
	var spans []trace.Span
	for _, p := range all {
		if traced(p.Context) {
			span := trace.SpanFromContext(p.Context)
			spans, links = append(spans, span), append(links, trace.Link{SpanContext: span.SpanContext()})
		}
	}
	if len(links) == 0 {
		return
	}
	_, group := t.tracer.Start(context.Background(), "group "+transaction, client, trace.WithNewRoot(), trace.WithTimestamp(began),
		trace.WithLinks(links...), trace.WithAttributes(semconv.DBOperationBatchSize(len(all))))
	for _, span := range spans {
		span.AddLink(trace.Link{SpanContext: group.SpanContext()})
		span.SetAttributes(ordersKey.Int(len(all)))
	}
	end(group, err)
}

// OnTransaction returns Transaction, or nil if traces are off: then nothing is gathered for it.
func (t *Traces) OnTransaction() func(all []*order.Attempt, began time.Time, err error) {
	if t == nil {
		return nil
	}
	return t.Transaction
}
