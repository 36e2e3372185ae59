package redislock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// replicated waits until enough replicas have the grants, which are on one node. WAIT
// speaks of the writes of its own connection, so the grants are written there once more:
// that is after them, and replicas receive writes in order.
func (b *Backend) replicated(ctx context.Context, token string, given ...batched) error {
	if b.o.Replicas <= 0 || len(given) == 0 {
		return nil
	}
	var node redis.Cmdable = b.client
	switch master, err := b.masterOf(ctx, given[0].names); {
	case err != nil:
		return err
	case master != nil:
		node = master
	}
	var wait *redis.Cmd
	_, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range given {
			p.Eval(ctx, touchSource, []string{m.lock}, token)
		}
		wait = p.Do(ctx, "WAIT", b.o.Replicas, b.o.ReplicaTimeout.Milliseconds())
		return nil
	})
	if err != nil {
		return fmt.Errorf("redislock: wait for replicas: %w", err)
	}
	if got, _ := wait.Int(); got < b.o.Replicas {
		return fmt.Errorf("redislock: %d of %d replicas have the grant", got, b.o.Replicas)
	}
	return nil
}

// touchSource writes a granted key over itself, with what is left of its lease.
const touchSource = `
local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
	redis.call('SET', KEYS[1], value, 'KEEPTTL')
end
return 1`
