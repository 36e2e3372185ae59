package redislock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// replicated waits until enough replicas have the grant. WAIT speaks of the
// writes of its own connection, so the grant is written there once more: that
// is after the grant, and replicas receive writes in order.
func (b *Backend) replicated(ctx context.Context, n names, token string) error {
	if b.o.Replicas <= 0 {
		return nil
	}
	var node redis.Cmdable = b.client
	if c, ok := b.client.(*redis.ClusterClient); ok {
		master, err := c.MasterForKey(ctx, n.lock)
		if err != nil {
			return fmt.Errorf("redislock: find the master: %w", err)
		}
		node = master
	}
	var wait *redis.Cmd
	_, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Eval(ctx, touchSource, []string{n.lock}, token)
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
