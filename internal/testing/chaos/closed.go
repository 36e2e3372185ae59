package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
)

// closedShards measures for how long each shard rejects its buyers because of a store. The time starts with the
// first rejection. It ends with the next buyer of the shard who gets another answer.
type closedShards struct {
	mu      sync.Mutex
	since   [shards]time.Time // of the first rejection; zero while the shard answers
	longest [shards]time.Duration
	refused [shards]int
	told    [shards]string        // the detail of the first rejection
	bounds  map[int]time.Duration // for the shards that are checked
	late    time.Duration         // how late the machine was at most

	// overtaken means that requests of one user do not exclude each other. The fence may then reject a request
	// that another request has overtaken, with the answer for an unavailable store.
	overtaken bool
}

const plainEvery = 20 * time.Millisecond

// watchMachine measures how late the machine is, until the caller calls end. The lateness of one PING is the
// time from its due time to the answer of the last master. A PING that fails does not count. On an overloaded
// machine, moves and calls take longer by the lateness, and a shard may be closed for longer by the lateness.
func (c *closedShards) watchMachine(ctx context.Context, nodes *redis.ClusterClient) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for due := time.Now().Add(plainEvery); sleep(ctx, time.Until(due)); due = time.Now().Add(plainEvery) {
			err := nodes.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return node.Ping(ctx).Err() })
			if late := time.Since(due); err == nil {
				c.mu.Lock()
				c.late = max(c.late, late)
				c.mu.Unlock()
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

// within sets for how long shards may be closed. With 0, a shard may reject no buyer, except by the fence.
func (c *closedShards) within(most time.Duration, which ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bounds == nil {
		c.bounds = map[int]time.Duration{}
	}
	if most == 0 && c.overtaken {
		most = closedWithin
	}
	for _, shard := range which {
		c.bounds[shard] = most
	}
}

// answered records an answer to a buyer.
func (c *closedShards) answered(user int64, a answer) {
	shard := coupon.Home(user, shards)
	c.mu.Lock()
	defer c.mu.Unlock()
	since := &c.since[shard]
	switch {
	case a.code == "unavailable" || a.code == "sale_paused" || a.code == "stock_loading":
		if c.refused[shard]++; c.refused[shard] == 1 {
			c.told[shard] = a.detail
		}
		if since.IsZero() {
			*since = a.asked
		}
	case a.status != 0 && !since.IsZero() && a.asked.After(*since):
		c.longest[shard] = max(c.longest[shard], time.Since(*since))
		*since = time.Time{}
	}
}

// problems returns a message for each shard that was closed for too long.
func (c *closedShards) problems() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, shard := range slices.Sorted(maps.Keys(c.bounds)) {
		bound := c.bounds[shard]
		switch {
		case bound == 0 && c.refused[shard] > 0:
			all = append(all, fmt.Sprintf("%d buyers of shard %d were refused, and none may be: %q", c.refused[shard], shard, c.told[shard]))
		case bound > 0 && c.longest[shard] > bound+c.late:
			all = append(all, fmt.Sprintf("shard %d was closed for %s, and may be for %s on a machine that is up to %s late: %d were refused: %q",
				shard, c.longest[shard], bound, c.late, c.refused[shard], c.told[shard]))
		}
	}
	return all
}
