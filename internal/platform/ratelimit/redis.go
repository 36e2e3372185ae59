package ratelimit

import (
	"cmp"
	"context"
	_ "embed" // the script
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// defaultPrefix is the default of redis.prefix.
const defaultPrefix = "seckill:"

//go:embed spend.lua
var spendSource string

var spendScript = redis.NewScript(spendSource)

// Redis implements Ledger: a key a client, which is gone when its bucket is full again.
//
// It takes below zero, which the limiters of go-redis' redis_rate do not: they refuse, and here the
// request was served already.
type Redis struct {
	client redis.UniversalClient
	prefix string
}

// NewRedis returns the buckets in client, whose keys begin with prefix. An empty prefix is the default of
// redis.prefix.
func NewRedis(client redis.UniversalClient, prefix string) *Redis {
	return &Redis{client: client, prefix: cmp.Or(prefix, defaultPrefix)}
}

// Spend implements Ledger, in one pipeline, and a second one for servers that do not know the script. A
// debit whose reply is lost may have been taken or not.
func (r *Redis) Spend(ctx context.Context, debits []Debit) ([]float64, error) {
	left := make([]float64, len(debits))
	all := make([]int, len(debits))
	for i := range all {
		all[i] = i
	}
	unknown, err := r.spend(ctx, debits, all, left, spendScript.EvalSha)
	if err == nil && len(unknown) > 0 {
		_, err = r.spend(ctx, debits, unknown, left, spendScript.Eval)
	}
	return left, err
}

// spend takes the debits with these indices, and returns those of servers that do not know the script.
func (r *Redis) spend(ctx context.Context, debits []Debit, which []int, left []float64,
	run func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd,
) (unknown []int, err error) {
	pipe := r.client.Pipeline()
	replies := make([]*redis.Cmd, len(which))
	for n, i := range which {
		d := debits[i]
		replies[n] = run(ctx, pipe, []string{r.prefix + "rate:" + d.Key}, d.N, time.Second.Microseconds()/int64(d.PerSecond), d.Burst)
	}
	_, _ = pipe.Exec(ctx) // each reply has its own error
	for n, i := range which {
		text, err := replies[n].Text()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			unknown = append(unknown, i)
			continue
		}
		if err == nil {
			left[i], err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("what is left of %s: %w", debits[i].Key, err)
		}
	}
	return unknown, nil
}
