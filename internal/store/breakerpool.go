package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"seckill/internal/breaker"
	"seckill/internal/order"
)

// probeTimeout bounds the question whether a database that was away answers again.
const probeTimeout = time.Second

// breakerPool is the pool as gorm sees it, with a breaker before it: a database that is
// away costs a request nothing, and not the whole of its budget. Statements inside a
// transaction pass it by, because whoever began has been let through. So does
// QueryRowContext, whose sql.Row cannot be made to say no: nothing here uses it but
// the embedded database's fences.
type breakerPool struct {
	*sql.DB
	breaker *breaker.Breaker
	timeout time.Duration // how long the database may take to answer
}

func newBreakerPool(pool *sql.DB, patience time.Duration, log *slog.Logger, changed func(string, bool)) breakerPool {
	return breakerPool{DB: pool, timeout: patience, breaker: breaker.New(breaker.Options{
		Name: "database", Ask: pool.PingContext, Timeout: probeTimeout, Log: log, Changed: changed,
	})}
}

// GetDBConn gives gorm the pool itself.
func (g breakerPool) GetDBConn() (*sql.DB, error) { return g.DB, nil }

// BeginTx begins, unless the database is away.
//
//nolint:wrapcheck // gorm is to see what the pool says
func (g breakerPool) BeginTx(ctx context.Context, o *sql.TxOptions) (begun *sql.Tx, err error) {
	err = g.do(ctx, func() error { begun, err = g.DB.BeginTx(ctx, o); return err })
	return begun, err
}

// ExecContext executes, unless the database is away.
//
//nolint:wrapcheck // gorm is to see what the pool says
func (g breakerPool) ExecContext(ctx context.Context, query string, args ...any) (done sql.Result, err error) {
	err = g.do(ctx, func() error { done, err = g.DB.ExecContext(ctx, query, args...); return err })
	return done, err
}

// QueryContext queries, unless the database is away.
//
//nolint:wrapcheck // gorm is to see what the pool says
func (g breakerPool) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	err = g.do(ctx, func() error {
		rows, err = g.DB.QueryContext(ctx, query, args...) //nolint:rowserrcheck,sqlclosecheck // gorm does both
		return err
	})
	return rows, err
}

func (g breakerPool) do(ctx context.Context, work func() error) error {
	if err := g.breaker.Away(); err != nil {
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	began := time.Now()
	err := work()
	switch {
	case err == nil || !errors.Is(classify(err), order.ErrUnavailable):
		if !errors.Is(err, context.Canceled) {
			g.breaker.Answered()
		}
	case breaker.Over(ctx) && time.Since(began) < g.timeout/2: // the caller had hardly any time left
	default:
		g.breaker.Silent()
	}
	return err
}
