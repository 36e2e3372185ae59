package main

import (
	"context"
	"errors"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/lock/redlock"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/tools/servers"
)

// dial opens a client of one server, set as the program sets it. The counter counts
// what it sends.
func dial(at *servers.Redis, w *commandCounter) (redis.UniversalClient, error) {
	c, err := redisconn.Dial(redisconn.Options{Addrs: []string{at.Addr()}, PoolSize: 64, Timeout: 5 * time.Second})
	if err == nil && w != nil {
		c.(*redis.Client).AddHook(w) // one address is one client
	}
	return c, err
}

// onRedis makes a candidate whose processes have clients of the servers at.
func onRedis(name string, at []*servers.Redis, build func(clients []redis.UniversalClient) (*process, error)) (candidate, error) {
	w := &commandCounter{}
	raw, err := dial(at[0], nil)
	if err != nil {
		return candidate{}, err
	}
	return candidate{
		name: name,
		open: func(context.Context) (*process, error) {
			var clients []redis.UniversalClient
			for _, s := range at {
				c, err := dial(s, w)
				if err != nil {
					return nil, err
				}
				clients = append(clients, c)
			}
			p, err := build(clients)
			if err != nil {
				return nil, err
			}
			before := p.close
			p.close = func() error {
				err := before()
				for _, c := range clients {
					err = errors.Join(err, c.Close())
				}
				return err
			}
			return p, nil
		},
		raw: func(ctx context.Context) error {
			if err := raw.Set(ctx, "raw:user:1", "0123456789ABCDEFGHIJKLMNOP", lease).Err(); err != nil {
				return err
			}
			return raw.Del(ctx, "raw:user:1").Err()
		},
		trip: func(ctx context.Context) error {
			return raw.Set(ctx, "raw:user:1", "0123456789ABCDEFGHIJKLMNOP", lease).Err()
		},
		sent:  func(context.Context) (int64, error) { return w.sent.Load(), nil },
		close: raw.Close,
	}, nil
}

func ourRedis(o redislock.Options) func([]redis.UniversalClient) (*process, error) {
	return func(c []redis.UniversalClient) (*process, error) { return ours(redislock.New(c[0], o), nothing) }
}

func ourRedisPipelined(c []redis.UniversalClient) (*process, error) {
	p, err := c[0].AutoPipeline()
	if err != nil {
		return nil, err
	}
	return ours(redislock.New(c[0], redislock.Options{Scripter: p}), p.Close)
}

func ourRedlock(f lock.Fencer) func([]redis.UniversalClient) (*process, error) {
	return func(c []redis.UniversalClient) (*process, error) {
		b, err := redlock.New(c, redlock.Options{Fencer: f, NodeTimeout: time.Second})
		if err != nil {
			return nil, err
		}
		return ours(b, func() error { b.Close(); return nil })
	}
}

// theirRedsync leaves the delays between tries as they are, 50 to 250 ms, and lets
// it try for as long as the others wait.
func theirRedsync(c []redis.UniversalClient) (*process, error) {
	var pools []rsredis.Pool
	for _, one := range c {
		pools = append(pools, goredis.NewPool(one))
	}
	rs := redsync.New(pools...)
	return &process{
		worker: shared(func(ctx context.Context, key string) (release, error) {
			m := rs.NewMutex("redsync:"+key, redsync.WithExpiry(lease), redsync.WithTries(1<<20))
			if err := m.LockContext(ctx); err != nil {
				return nil, err
			}
			return func(ctx context.Context) error { _, err := m.UnlockContext(ctx); return err }, nil
		}),
		close: nothing,
	}, nil
}

// bsmPause is between two tries of bsm/redislock, which has no default.
const bsmPause = 10 * time.Millisecond

func theirBsm(c []redis.UniversalClient) (*process, error) {
	client := bsm.New(c[0])
	return &process{
		worker: shared(func(ctx context.Context, key string) (release, error) {
			ctx, cancel := context.WithTimeout(ctx, wait) // it waits as long as the context, but no longer than the lease
			defer cancel()
			l, err := client.Obtain(ctx, "bsm:"+key, lease, &bsm.Options{RetryStrategy: bsm.LinearBackoff(bsmPause)})
			if err != nil {
				return nil, err
			}
			return l.Release, nil
		}),
		close: nothing,
	}, nil
}
