package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/seckill/internal/order"
)

// timer observes the duration of a step. Its two series are looked up once, and not for
// each order.
type timer struct{ ok, failed prometheus.Observer }

func (m *Metrics) timer(step string) timer {
	return timer{m.steps.WithLabelValues(step, "ok"), m.steps.WithLabelValues(step, "error")}
}

func (t timer) since(began time.Time, err error) {
	to := t.ok
	if err != nil {
		to = t.failed
	}
	to.Observe(time.Since(began).Seconds())
}

// timedSteps are the steps that are measured, with the value of the label step.
var timedSteps = map[order.Step]string{
	order.StepReserve: "reserve", order.StepLock: "locked", order.StepCommit: "transaction",
	order.StepConfirm: "confirm", order.StepRelease: "release",
}

// Hook measures the steps of orders. A step of many orders is one observation, because it takes as long for each of
// them. The step has failed if it has for any.
func (m *Metrics) Hook() order.Hook {
	timers := map[order.Step]timer{}
	for step, name := range timedSteps {
		timers[step] = m.timer(name)
	}
	return func(ctx context.Context, step order.Step, all []*order.Attempt, do func(ctx context.Context)) {
		t, timed := timers[step]
		if !timed {
			do(ctx)
			return
		}
		began := time.Now()
		do(ctx)
		t.since(began, firstError(step, all))
	}
}

func firstError(step order.Step, all []*order.Attempt) error {
	for _, a := range all {
		err := a.Err
		if step == order.StepConfirm || step == order.StepRelease {
			err = a.HoldErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Database measures transactions from begin to commit.
func (m *Metrics) Database(db order.Database) order.Database {
	return timedDatabase{db, m.timer("transaction")}
}

type timedDatabase struct {
	order.Database
	transaction timer
}

func (t timedDatabase) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	began := time.Now()
	err := t.Database.InTx(ctx, work)
	t.transaction.since(began, err)
	return err
}
