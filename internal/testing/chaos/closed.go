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

// closedShards notes for how long each shard refused its buyers because of a store, from the first refusal to the next
// buyer of it who was answered otherwise.
type closedShards struct {
	mu      sync.Mutex
	since   [shards]time.Time // of the first refusal; zero while the shard answers
	longest [shards]time.Duration
	refused [shards]int
	told    [shards]string        // the detail of the first refusal
	bounds  map[int]time.Duration // of the shards that are asked about
	late    time.Duration         // how late the machine was at most

	// overtaken: requests of one user do not exclude each other, and the fence refuses one that another one has
	// overtaken as if a store were away.
	overtaken bool
}

const plainEvery = 20 * time.Millisecond

// watchMachine notes how late the machine is until the function returned is called: how long after it was due a
// plain command has its answer of every master that answers. Moves and calls take as much longer, and so may a
// shard be closed, on a machine with more to do than it can.
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

// within says for how long shards may be closed; 0: not one buyer may be refused, but by the fence.
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

// answered notes an answer to a buyer.
func (c *closedShards) answered(user int64, a answer) {
	shard := coupon.Home(user, shards)
	c.mu.Lock()
	defer c.mu.Unlock()
	since := &c.since[shard]
	switch {
	case a.code == "unavailable" || a.code == "not_loaded":
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

// problems are the shards that were closed for too long.
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
