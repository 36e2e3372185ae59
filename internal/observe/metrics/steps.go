package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// A call for many orders is one observation: the step took as long for each of them. It has
// failed if it has for any.

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

func (s timedStock) ReserveMany(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	began := time.Now()
	all := s.Stock.ReserveMany(ctx, requests)
	s.reserve.since(began, firstError(all, func(r order.Reservation) error { return r.Err }))
	return all
}

func (s timedStock) ConfirmMany(ctx context.Context, holds []order.Hold) []error {
	began := time.Now()
	errs := s.Stock.ConfirmMany(ctx, holds)
	s.confirm.since(began, firstError(errs, asError))
	return errs
}

func asError(err error) error { return err }

func firstError[T any](all []T, of func(T) error) error {
	for _, one := range all {
		if err := of(one); err != nil {
			return err
		}
	}
	return nil
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

func (l timedLocker) DoMany(ctx context.Context, keys []string,
	work func(ctx context.Context, leases []*lock.Lease) []error, opts ...lock.Option,
) []error {
	began := time.Now()
	errs := l.Locker.DoMany(ctx, keys, work, opts...)
	l.locked.since(began, firstError(errs, asError))
	return errs
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

// Committer measures the transactions of orders.
func (m *Metrics) Committer(c order.Committer) order.Committer {
	return timedCommitter{c, m.timer("transaction")}
}

type timedCommitter struct {
	order.Committer

	transaction timer
}

func (c timedCommitter) Place(ctx context.Context, all []*order.Attempt) {
	began := time.Now()
	c.Committer.Place(ctx, all)
	c.transaction.since(began, firstError(all, func(a *order.Attempt) error { return a.Err }))
}
