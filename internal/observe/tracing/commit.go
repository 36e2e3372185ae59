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

// Transactor makes a span of each transaction.
func (t *Traces) Transactor(tx order.Transactor) order.Transactor {
	if t == nil {
		return tx
	}
	return transactor{tx, t}
}

type transactor struct {
	order.Transactor
	t *Traces
}

func (x transactor) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	if !traced(ctx) {
		return x.Transactor.InTx(ctx, work)
	}
	ctx, span := x.t.step(ctx, transaction, client)
	err := x.Transactor.InTx(ctx, work)
	end(span, err)
	return err
}

// Committer makes a span of the transaction for each order, in the order's trace. Its context goes
// with the placement: Group links it to the transaction that the order shares with others.
func (t *Traces) Committer(c order.BatchCommitter) order.BatchCommitter {
	if t == nil {
		return c
	}
	return committer{c, t}
}

type committer struct {
	order.BatchCommitter
	t *Traces
}

func (c committer) Place(ctx context.Context, p order.Placement) (int, error) {
	if !traced(ctx) {
		return c.BatchCommitter.Place(ctx, p)
	}
	ctx, span := c.t.step(ctx, transaction, client)
	slot, err := c.BatchCommitter.Place(ctx, p)
	end(span, err)
	return slot, err
}

func (c committer) PlaceMany(ctx context.Context, many []order.Placement) []order.Placed {
	enter(ctx, many)
	spans := make([]trace.Span, len(many))
	for i := range many {
		if p := &many[i]; traced(p.Context) {
			p.Context, spans[i] = c.t.step(p.Context, transaction, client) //nolint:fatcontext // each is its member's own
		}
	}
	placed := c.BatchCommitter.PlaceMany(ctx, many)
	for i, span := range spans {
		if span != nil {
			end(span, placed[i].Err)
		}
	}
	return placed
}

// Group is told of a transaction that has ended, before its orders are answered. If one of them is
// traced, it makes a span of the transaction, a trace of its own, and links both ways: from the
// transaction to the spans of its orders, and from each of these to the transaction.
func (t *Traces) Group(placements []order.Placement, began time.Time, err error) {
	var links []trace.Link
	var spans []trace.Span
	for _, p := range placements {
		if traced(p.Context) {
			span := trace.SpanFromContext(p.Context)
			spans, links = append(spans, span), append(links, trace.Link{SpanContext: span.SpanContext()})
		}
	}
	if len(links) == 0 {
		return
	}
	_, group := t.tracer.Start(context.Background(), "group "+transaction, client, trace.WithNewRoot(), trace.WithTimestamp(began),
		trace.WithLinks(links...), trace.WithAttributes(semconv.DBOperationBatchSize(len(placements))))
	for _, span := range spans {
		span.AddLink(trace.Link{SpanContext: group.SpanContext()})
		span.SetAttributes(ordersKey.Int(len(placements)))
	}
	end(group, err)
}

// OnGroup returns Group, or nil if traces are off: then nothing is gathered for it.
func (t *Traces) OnGroup() func(placements []order.Placement, began time.Time, err error) {
	if t == nil {
		return nil
	}
	return t.Group
}
