package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/breaker"
	"seckill/internal/order"
)

// probeTimeout bounds one probe of a database that does not respond.
const probeTimeout = time.Second

// breakerPool is the pool that gorm uses, with a breaker before it: a database that is
// down costs a request nothing, instead of the whole of its budget. Statements inside a
// transaction do not pass the breaker, because its begin did. Nor does QueryRowContext,
// whose sql.Row cannot carry the refusal: only the embedded database's fences use it.
type breakerPool struct {
	*sql.DB
	breaker *breaker.Breaker
}

// newBreakerPool returns the pool behind a breaker. The database may take callTimeout to
// answer.
func newBreakerPool(
	pool *sql.DB, callTimeout time.Duration, log *slog.Logger, onChange func(string, bool),
) breakerPool {
	return breakerPool{DB: pool, breaker: breaker.New(breaker.Options{
		Name: "database", CallTimeout: callTimeout, Outcome: outcomeOf,
		Probe: pool.PingContext, ProbeTimeout: probeTimeout, Log: log, OnChange: onChange,
	})}
}

// GetDBConn returns the pool itself, for gorm.
func (p breakerPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }

// BeginTx begins a transaction, unless the circuit is open.
//
//nolint:wrapcheck // gorm is to see what the pool says
func (p breakerPool) BeginTx(ctx context.Context, o *sql.TxOptions) (begun *sql.Tx, err error) {
	err = p.do(ctx, func() error { begun, err = p.DB.BeginTx(ctx, o); return err })
	return begun, err
}

// ExecContext executes a statement, unless the circuit is open.
//
//nolint:wrapcheck // gorm is to see what the pool says
func (p breakerPool) ExecContext(ctx context.Context, query string, args ...any) (done sql.Result, err error) {
	err = p.do(ctx, func() error { done, err = p.DB.ExecContext(ctx, query, args...); return err })
	return done, err
}

// QueryContext runs a query, unless the circuit is open.
//
//nolint:wrapcheck // gorm is to see what the pool says
func (p breakerPool) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	err = p.do(ctx, func() error {
		rows, err = p.DB.QueryContext(ctx, query, args...) //nolint:rowserrcheck,sqlclosecheck // gorm does both
		return err
	})
	return rows, err
}

func (p breakerPool) do(ctx context.Context, call func() error) error {
	err := p.breaker.Do(ctx, call)
	if errors.Is(err, breaker.ErrOpen) {
		return &unavailableError{err}
	}
	return err
}

// outcomeOf classifies the error of a statement. A deadlock, or a row that is there
// already, is an answer too.
func outcomeOf(err error) breaker.Outcome {
	switch {
	case errors.Is(classify(err), order.ErrUnavailable):
		return breaker.Unresponsive
	case errors.Is(err, context.Canceled):
		return breaker.Inconclusive
	}
	return breaker.Responsive
}
