package redisconn

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/breaker"
)

// guarded puts a breaker before one server: in a Cluster each node has its own, so
// that a dead master stops its own shards and no others.
func (o Options) guarded(c *redis.Client, name string) *redis.Client {
	g := guard{patience: o.Timeout}
	g.Breaker = breaker.New(breaker.Options{
		Name: "redis " + name, Timeout: o.DialTimeout + o.Timeout, Log: o.Logger, Changed: o.OnBreakerChange,
		Ask: func(ctx context.Context) error {
			err := c.Ping(context.WithValue(ctx, asking{}, true)).Err()
			if errors.Is(err, redis.ErrClosed) {
				return breaker.ErrGone
			}
			return err
		},
	})
	c.AddHook(g)
	return c
}

// asking marks the breaker's own question, which passes it.
type asking struct{}

// guard is the hook that asks the breaker first and tells it what came of it.
type guard struct {
	*breaker.Breaker
	patience time.Duration // how long a server may take to answer
}

// DialHook changes nothing: a connection that cannot be made fails its command.
func (g guard) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook guards one command.
func (g guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := g.guard(ctx, func() error { return next(ctx, cmd) })
		if errors.Is(err, breaker.ErrAway) {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook guards a pipeline or transaction.
func (g guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := g.guard(ctx, func() error { return next(ctx, cmds) })
		if errors.Is(err, breaker.ErrAway) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

func (g guard) guard(ctx context.Context, do func() error) error {
	if ctx.Value(asking{}) != nil {
		return do()
	}
	if err := g.Away(); err != nil {
		return err
	}
	began := time.Now()
	err := do()
	switch {
	case answered(err):
		g.Answered()
	case g.innocent(ctx, err, time.Since(began)):
	default:
		g.Silent()
	}
	return err
}

func answered(err error) bool {
	_, said := errors.AsType[redis.Error](err)
	return err == nil || said
}

// innocent says whether a failure tells nothing of the server: the caller went away,
// or had hardly any time left, or all connections were in use, or the client is closed.
func (g guard) innocent(ctx context.Context, err error, took time.Duration) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) ||
		breaker.Over(ctx) && took < g.patience/2
}
