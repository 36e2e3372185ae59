package redisconn

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/platform/breaker"
)

// withBreaker puts a breaker before one server: in a Cluster each node has its own, so
// that a dead master stops its own shards and no others.
func (o Options) withBreaker(c *redis.Client, name string) *redis.Client {
	c.AddHook(breakerHook{breaker.New(breaker.Options{
		Name: "redis " + name, CallTimeout: o.Timeout, ProbeTimeout: o.DialTimeout + o.Timeout,
		Outcome: outcomeOf, Log: o.Logger, OnChange: o.OnBreakerChange,
		Probe: func(ctx context.Context) error {
			err := c.Ping(context.WithValue(ctx, probeKey{}, true)).Err()
			if errors.Is(err, redis.ErrClosed) {
				return breaker.ErrStop
			}
			return err
		},
	})})
	return c
}

// probeKey marks the context of the breaker's own probe, which passes it.
type probeKey struct{}

// breakerHook runs commands through a breaker.
type breakerHook struct{ breaker *breaker.Breaker }

// DialHook returns next: a connection that cannot be made fails its command.
func (breakerHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook runs one command through the breaker.
func (h breakerHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h.do(ctx, func() error { return next(ctx, cmd) })
		if errors.Is(err, breaker.ErrOpen) {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook runs a pipeline or transaction through the breaker, as one call.
func (h breakerHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := h.do(ctx, func() error { return next(ctx, cmds) })
		if errors.Is(err, breaker.ErrOpen) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

func (h breakerHook) do(ctx context.Context, call func() error) error {
	if ctx.Value(probeKey{}) != nil {
		return call()
	}
	return h.breaker.Do(ctx, call)
}

// outcomeOf classifies the error of a command. A command that its caller cancelled, that
// found all connections in use or the client closed says nothing of the server.
func outcomeOf(err error) breaker.Outcome {
	if _, answered := errors.AsType[redis.Error](err); answered || err == nil {
		return breaker.Responsive
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) {
		return breaker.Inconclusive
	}
	return breaker.Unresponsive
}
