package app

import (
	"context"
	"net/http"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/observe/tracing"
	"example.com/seckill/internal/order"
)

// keptTraces is how many traces of orders are kept at least with embedded stores, for the page.
const keptTraces = 256

// glancesPerSecond is how many purchase requests a second are traced with embedded stores, although they do not ask for
// it: the page shows the latest order.
const glancesPerSecond = 4

// openTraces returns nil if traces are off. With embedded stores the page asks for the traces of its orders. Without an
// endpoint, the program traces these orders and the glances.
func openTraces(ctx context.Context, a *App) (*tracing.Traces, error) {
	o := tracing.Options{
		Endpoint: a.cfg.Otel.Endpoint, SampleRatio: a.cfg.Otel.SampleRatio, KeepTraces: a.cfg.Otel.KeepTraces,
		Version: Version(), Instance: a.fleet.Name(), Log: a.log,
	}
	if a.embedded != nil {
		o.KeepTraces, o.Glances = max(o.KeepTraces, keptTraces), glancesPerSecond
	}
	if o.Endpoint == "" {
		o.SampleRatio = 0
	}
	return tracing.New(ctx, o)
}

// traceRequests returns nil if traces are off, so that a request is not even asked.
func traceRequests(t *tracing.Traces) func(string, http.ResponseWriter, *http.Request) (*http.Request, func(int)) {
	if t == nil {
		return nil
	}
	return t.Request
}

// keptTracesOf returns nil if none are kept.
func keptTracesOf(t *tracing.Traces) api.Traces {
	if !t.Keeps() {
		return nil
	}
	return orderTraces{t}
}

// orderTraces implements api.Traces.
type orderTraces struct{ *tracing.Traces }

func (t orderTraces) Steps(orderID, userID int64) []api.Step {
	return apiSteps(t.Traces.Steps(orderID, userID))
}

func (t orderTraces) Latest(couponID int64) []api.Step {
	return apiSteps(t.Traces.Latest(couponID))
}

func apiSteps(steps []tracing.Step) []api.Step {
	all := make([]api.Step, len(steps))
	for i, s := range steps {
		all[i] = api.Step(s)
	}
	return all
}

// ordersOf returns the order service, or the draws around it, with a span around each Place unless traces are off.
func ordersOf(a *App) api.Orders {
	var orders api.Orders = a.orders
	if a.lottery != nil {
		orders = a.lottery
	}
	if a.traces == nil {
		return orders
	}
	return tracedOrders{orders, a.traces}
}

// tracedOrders is orders with a span around Place.
type tracedOrders struct {
	api.Orders
	traces *tracing.Traces
}

// Place implements api.Orders.
func (o tracedOrders) Place(ctx context.Context, r order.Request) (order.Order, error) {
	return o.traces.Place(ctx, r, o.Orders.Place)
}
