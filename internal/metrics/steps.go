package metrics

import (
	"context"
	"time"

	"seckill/internal/lock"
	"seckill/internal/order"
)

func (m *Metrics) step(name string, began time.Time, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	m.steps.WithLabelValues(name, outcome).Observe(time.Since(began).Seconds())
}

// Stock measures reserve, confirm and release.
func (m *Metrics) Stock(s order.Stock) order.Stock { return timedStock{s, m} }

type timedStock struct {
	order.Stock
	m *Metrics
}

func (s timedStock) Reserve(ctx context.Context, c order.Claim) (h order.Hold, err error) {
	defer func(began time.Time) { s.m.step("reserve", began, err) }(time.Now())
	return s.Stock.Reserve(ctx, c)
}

func (s timedStock) Confirm(ctx context.Context, h order.Hold) (err error) {
	defer func(began time.Time) { s.m.step("confirm", began, err) }(time.Now())
	return s.Stock.Confirm(ctx, h)
}

func (s timedStock) Release(ctx context.Context, h order.Hold) (err error) {
	defer func(began time.Time) { s.m.step("release", began, err) }(time.Now())
	return s.Stock.Release(ctx, h)
}

// Locker measures the whole section: lock, work and unlock.
func (m *Metrics) Locker(l order.Locker) order.Locker { return timedLocker{l, m} }

type timedLocker struct {
	order.Locker
	m *Metrics
}

func (l timedLocker) Do(ctx context.Context, key string,
	work func(ctx context.Context, lease *lock.Lease) error, opts ...lock.Option,
) (err error) {
	defer func(began time.Time) { l.m.step("locked", began, err) }(time.Now())
	return l.Locker.Do(ctx, key, work, opts...)
}

// Transactor measures begin to commit.
func (m *Metrics) Transactor(t order.Transactor) order.Transactor { return timedTransactor{t, m} }

type timedTransactor struct {
	order.Transactor
	m *Metrics
}

func (t timedTransactor) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) (err error) {
	defer func(began time.Time) { t.m.step("transaction", began, err) }(time.Now())
	return t.Transactor.InTx(ctx, work)
}
