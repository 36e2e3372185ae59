package tracing

import (
	"context"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"example.com/seckill/internal/order"
)

// transaction is the name of the span from begin to commit. The span includes the wait for a group.
const transaction = "transaction"

// Database returns db with a span for each transaction. If traces are off, it returns db.
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

// commit makes a span of the transaction for each order, in the order's trace. While do runs, the context of an attempt
// has the span. So Transaction can link the span to the transaction that the order shares with others.
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

// Transaction records a transaction that has ended. The committer calls it before the orders are answered. If at least
// one order is traced, Transaction makes a span of the transaction, in a separate trace. It links the span to the spans
// of the orders, and each of these spans to the span of the transaction.
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

// OnTransaction returns Transaction, or nil if traces are off. With nil the committer gathers no data for the traces.
func (t *Traces) OnTransaction() func(all []*order.Attempt, began time.Time, err error) {
	if t == nil {
		return nil
	}
	return t.Transaction
}
