package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/lock"
	"seckill/internal/order"
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

// Stock measures reserve, confirm and release.
func (m *Metrics) Stock(s order.Stock) order.Stock {
	return timedStock{s, m.timer("reserve"), m.timer("confirm"), m.timer("release")}
}

type timedStock struct {
	order.Stock
	reserve, confirm, release timer
}

func (s timedStock) Reserve(ctx context.Context, c order.ReserveRequest) (order.Hold, error) {
	began := time.Now()
	h, err := s.Stock.Reserve(ctx, c)
	s.reserve.since(began, err)
	return h, err
}

func (s timedStock) Confirm(ctx context.Context, h order.Hold) error {
	began := time.Now()
	err := s.Stock.Confirm(ctx, h)
	s.confirm.since(began, err)
	return err
}

func (s timedStock) Release(ctx context.Context, h order.Hold) error {
	began := time.Now()
	err := s.Stock.Release(ctx, h)
	s.release.since(began, err)
	return err
}

// Locker measures the whole section: lock, work and unlock.
func (m *Metrics) Locker(l order.Locker) order.Locker { return timedLocker{l, m.timer("locked")} }

type timedLocker struct {
	order.Locker
	locked timer
}

func (l timedLocker) Do(ctx context.Context, key string,
	work func(ctx context.Context, lease *lock.Lease) error, opts ...lock.Option,
) error {
	began := time.Now()
	err := l.Locker.Do(ctx, key, work, opts...)
	l.locked.since(began, err)
	return err
}

// Transactor measures begin to commit.
func (m *Metrics) Transactor(t order.Transactor) order.Transactor {
	return timedTransactor{t, m.timer("transaction")}
}

type timedTransactor struct {
	order.Transactor
	transaction timer
}

func (t timedTransactor) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	began := time.Now()
	err := t.Transactor.InTx(ctx, work)
	t.transaction.since(began, err)
	return err
}

// Committer measures the same of a committer that needs no Transactor.
func (m *Metrics) Committer(c order.Committer) order.Committer {
	return timedCommitter{c, m.timer("transaction")}
}

type timedCommitter struct {
	order.Committer
	transaction timer
}

func (c timedCommitter) Place(ctx context.Context, p order.Placement) (int, error) {
	began := time.Now()
	slot, err := c.Committer.Place(ctx, p)
	c.transaction.since(began, err)
	return slot, err
}
