package lab

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/lab/harness"
)

// The lock that is usually written first, command by command.

// short is a lease that ends during the experiment.
const short = 60 * time.Millisecond

// setNX takes the lock without an expiry.
func setNX(a *Actor, key, token string) (ours bool) {
	a.Redis(harness.Acquire, "SETNX "+key+" "+token, func(s *Step, c *redis.Client) (err error) {
		ours, err = c.SetNX(s.Ctx, a.Run().Key(key), token, 0).Result()
		taken(s, key, ours)
		return err
	})
	return ours
}

// setNXPX takes the lock with an expiry, in one command.
func setNXPX(a *Actor, key, token string, lease time.Duration) (ours bool) {
	a.Redis(harness.Acquire, "SET "+key+" "+token+" NX PX "+ms(lease), func(s *Step, c *redis.Client) (err error) {
		ours, err = trySet(s.Ctx, c, a.Run().Key(key), token, lease)
		taken(s, key, ours)
		return err
	})
	return ours
}

func trySet(ctx context.Context, c *redis.Client, key, token string, lease time.Duration) (bool, error) {
	err := c.SetArgs(ctx, key, token, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
	if err == redis.Nil { //nolint:errorlint // the client's own value
		return false, nil
	}
	return err == nil, err
}

func taken(s *Step, key string, ours bool) {
	if ours {
		s.Note("ours")
		s.Taken(key)
		return
	}
	s.Note("another's")
}

// del frees the lock, whichever token holds it.
func del(a *Actor, key string) {
	a.Redis(harness.Release, "DEL "+key, func(s *Step, c *redis.Client) error {
		n, err := c.Del(s.Ctx, a.Run().Key(key)).Result()
		if freed(s, key, n); n > 0 {
			s.Gone(key) // whichever actor's it was
		}
		return err
	})
}

// get returns the token that holds the lock.
func get(a *Actor, key string) (token string) {
	a.Redis(harness.Read, "GET "+key, func(s *Step, c *redis.Client) (err error) {
		if token, err = c.Get(s.Ctx, a.Run().Key(key)).Result(); err == redis.Nil { //nolint:errorlint // the client's own value
			err = nil
		}
		s.Note("→ %q", token)
		return err
	})
	return token
}

// compareAndDel frees the lock if the token still holds it, atomically.
var compareAndDel = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// unlock frees the lock if the token still holds it.
func unlock(a *Actor, key, token string) {
	a.Redis(harness.Release, "EVAL if GET "+key+" = "+token+" then DEL", func(s *Step, c *redis.Client) error {
		n, err := compareAndDel.Run(s.Ctx, c, []string{a.Run().Key(key)}, token).Int64()
		freed(s, key, n)
		return err
	})
}

func freed(s *Step, key string, n int64) {
	s.End(harness.LeaseSpan, key)
	if s.Note("deleted"); n == 0 {
		s.Note("nothing deleted")
	}
}
