package tracing

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Step is one step of an order that is kept.
type Step struct {
	Name   string
	Began  time.Time
	Took   time.Duration
	Orders int // in the transaction, if it was one for many
	Failed bool
}

// maxSteps bounds the steps of a trace: an order that is tried again has more than once each.
const maxSteps = 32

// memory keeps the steps of the last traced orders, each for its buyer. It implements
// sdk.SpanProcessor.
type memory struct {
	keep int

	mu     sync.Mutex
	traces map[trace.TraceID]*kept
	orders map[int64]trace.TraceID
	oldest []trace.TraceID
	latest latest
}

// latest is the trace of the order that was placed last.
type latest struct {
	coupon int64
	steps  []Step
}

type kept struct {
	order, user int64 // 0 until they are known
	steps       []Step
}

func newMemory(keep int) *memory {
	return &memory{keep: keep, traces: map[trace.TraceID]*kept{}, orders: map[int64]trace.TraceID{}}
}

// shown are the spans that are steps for a buyer.
var shown = []string{"place", "process", "admission", "reserve", "lock", transaction, "unlock", "confirm", "release"}

// OnEnd implements sdk.SpanProcessor. The spans of a trace end before the one that says whose it is.
func (m *memory) OnEnd(s sdk.ReadOnlySpan) {
	if !slices.Contains(shown, s.Name()) {
		return
	}
	of := attributesOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of(s.SpanContext().TraceID())
	whose := s.Name() == "place" || s.Name() == "process"
	if whose {
		m.index(s.SpanContext().TraceID(), k, of.order)
		k.user = of.user
	}
	failed := s.Status().Code == codes.Error
	if len(k.steps) < maxSteps {
		k.steps = append(k.steps, Step{
			Name: s.Name(), Began: s.StartTime(), Took: s.EndTime().Sub(s.StartTime()),
			Orders: of.orders, Failed: failed,
		})
	}
	if !whose {
		return
	}
	if !failed && of.order != 0 {
		m.latest = latest{of.coupon, inOrder(k.steps)}
	}
	if of.glanced {
		m.drop(s.SpanContext().TraceID(), k)
	}
}

// drop removes a trace that is not kept for its buyer.
func (m *memory) drop(id trace.TraceID, k *kept) {
	m.forget(id, k)
	delete(m.traces, id)
	m.oldest = slices.DeleteFunc(m.oldest, func(other trace.TraceID) bool { return other == id })
}

// inOrder returns the steps in the order of their begin.
func inOrder(steps []Step) []Step {
	steps = slices.Clone(steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return a.Began.Compare(b.Began) })
	return steps
}

// index makes the trace be found by an order. The trace is no longer found by its earlier order, so that the index has
// at most one entry for each trace.
func (m *memory) index(id trace.TraceID, k *kept, order int64) {
	m.forget(id, k)
	if k.order = order; order != 0 {
		m.orders[order] = id
	}
}

// forget removes the trace from the index, unless another trace of the same order has replaced it there.
func (m *memory) forget(id trace.TraceID, k *kept) {
	if m.orders[k.order] == id {
		delete(m.orders, k.order)
	}
}

// of returns the trace with that id. If it is new, the oldest makes room for it.
func (m *memory) of(id trace.TraceID) *kept {
	if k, is := m.traces[id]; is {
		return k
	}
	if len(m.oldest) >= m.keep {
		gone := m.oldest[0]
		m.oldest = append(m.oldest[:0], m.oldest[1:]...)
		m.forget(gone, m.traces[gone])
		delete(m.traces, gone)
	}
	k := &kept{}
	m.traces[id], m.oldest = k, append(m.oldest, id)
	return k
}

type attributes struct {
	order, user, coupon int64
	orders              int
	glanced             bool
}

func attributesOf(s sdk.ReadOnlySpan) (a attributes) {
	for _, kv := range s.Attributes() {
		switch kv.Key {
		case orderKey:
			a.order = kv.Value.AsInt64()
		case couponKey:
			a.coupon = kv.Value.AsInt64()
		case glanced:
			a.glanced = kv.Value.AsBool()
		case ordersKey:
			a.orders = int(kv.Value.AsInt64())
		case semconv.UserIDKey:
			a.user, _ = strconv.ParseInt(kv.Value.AsString(), 10, 64)
		}
	}
	return a
}

// OnStart implements sdk.SpanProcessor.
func (*memory) OnStart(context.Context, sdk.ReadWriteSpan) {}

// Shutdown implements sdk.SpanProcessor.
func (*memory) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdk.SpanProcessor.
func (*memory) ForceFlush(context.Context) error { return nil }

// Keeps reports whether traces of orders are kept for their buyers.
func (t *Traces) Keeps() bool { return t != nil && t.kept != nil }

// Steps returns the steps of an order of the user in the order of their begin, if this instance has
// traced it and keeps that still.
func (t *Traces) Steps(orderID, userID int64) []Step {
	if !t.Keeps() {
		return nil
	}
	m := t.kept
	m.mu.Lock()
	defer m.mu.Unlock()
	k, is := m.traces[m.orders[orderID]]
	if !is || orderID == 0 || k.order != orderID || k.user != userID {
		return nil
	}
	return inOrder(k.steps)
}

// Latest returns the steps of the order that was placed last, if it is one of the coupon and was traced.
func (t *Traces) Latest(couponID int64) []Step {
	if !t.Keeps() {
		return nil
	}
	t.kept.mu.Lock()
	defer t.kept.mu.Unlock()
	if t.kept.latest.coupon != couponID {
		return nil
	}
	return t.kept.latest.steps
}
