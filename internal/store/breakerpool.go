package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/breaker"
)

// probeTimeout bounds one probe of a database that does not respond.
const probeTimeout = time.Second

// breakerPool is the pool that gorm uses, with a breaker before it: a database that is
// down costs a request nothing, instead of the whole of its budget. Of a transaction the first
// statement passes the breaker: the begin travels with it. QueryRowContext does not,
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

// errNotAsked is the outcome of a begin that has a connection: it sent nothing to the server.
var errNotAsked = errors.New("store: nothing was asked")

// BeginTx begins a transaction, unless the circuit is open.
func (p breakerPool) BeginTx(ctx context.Context, o *sql.TxOptions) (gorm.ConnPool, error) {
	var begun *sql.Tx
	err := p.do(ctx, func() (err error) {
		if begun, err = p.DB.BeginTx(ctx, o); err == nil {
			err = errNotAsked
		}
		return err
	})
	if !errors.Is(err, errNotAsked) {
		return nil, err
	}
	return &breakerTx{Tx: begun, pool: p}, nil
}

// breakerTx is a transaction whose first statement passes the breaker.
type breakerTx struct {
	*sql.Tx

	pool  breakerPool
	asked bool
}

// ExecContext executes a statement.
//
//nolint:wrapcheck // gorm is to see what the pool says
func (t *breakerTx) ExecContext(ctx context.Context, query string, args ...any) (done sql.Result, err error) {
	err = t.do(ctx, func() error { done, err = t.Tx.ExecContext(ctx, query, args...); return err })
	return done, err
}

// QueryContext runs a query.
//
//nolint:wrapcheck // gorm is to see what the pool says
func (t *breakerTx) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	err = t.do(ctx, func() error {
		rows, err = t.Tx.QueryContext(ctx, query, args...) //nolint:rowserrcheck,sqlclosecheck // the caller does both
		return err
	})
	return rows, err
}

func (t *breakerTx) do(ctx context.Context, call func() error) error {
	if t.asked {
		return call()
	}
	t.asked = true
	return t.pool.do(ctx, call)
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
		return &unavailableError{CauseAway, err}
	}
	return err
}

// outcomeOf classifies the error of a statement. A deadlock, a row that is there already, or a statement that the
// server rejects or breaks off, is an answer of a server that responds.
func outcomeOf(err error) breaker.Outcome {
	err = classify(err)
	switch {
	case errors.Is(err, errRetry), Cause(err) == CauseRejected:
		return breaker.Responsive
	case errors.Is(err, order.ErrUnavailable):
		return breaker.Unresponsive
	case errors.Is(err, context.Canceled), errors.Is(err, errNotAsked):
		return breaker.Inconclusive
	}
	return breaker.Responsive
}
