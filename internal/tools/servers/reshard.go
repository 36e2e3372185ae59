package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// keysPerMove is how many keys redis-cli moves by one command.
const keysPerMove = 10

// AddMaster starts one more node and has it join the cluster, without slots.
func (c *Cluster) AddMaster(ctx context.Context) (*Redis, error) {
	return onFreePorts(ctx, 1, func(ports []int) (*Redis, error) {
		if err := c.startNode(ctx, ports[0]); err != nil {
			return nil, err
		}
		added := c.nodes[len(c.nodes)-1]
		host, port, _ := net.SplitHostPort(c.nodes[0].Addr()) // addrOf made it
		err := added.ask(ctx, func(r *redis.Client) error { return r.ClusterMeet(ctx, host, port).Err() })
		if err == nil {
			err = await(ctx, func(ctx context.Context) error { return c.known(ctx, added) })
		}
		return added, err
	})
}

// known returns nil once every running node knows the added one, and that one the slots.
func (c *Cluster) known(ctx context.Context, added *Redis) error {
	for _, n := range c.nodes {
		if n.PID() == 0 {
			continue
		}
		view, err := n.clusterView(ctx)
		if err != nil {
			return err
		}
		if !view.ok || !view.known[added.Addr()] {
			return fmt.Errorf("%s does not know %s yet", n.Addr(), added.Addr())
		}
	}
	return nil
}

// Owner returns the master of a key's slot, as the nodes see it.
func (c *Cluster) Owner(ctx context.Context, key string) (owner *Redis, slot int64, err error) {
	masters, err := c.Masters(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range masters {
		var there bool
		err = errors.Join(err, m.ask(ctx, func(r *redis.Client) error {
			slot = r.ClusterKeySlot(ctx, key).Val()
			said := r.Type(ctx, key).Err() // the owner of a slot that is being moved says ASK
			there = said == nil || redis.HasErrorPrefix(said, "ASK")
			return nil
		}))
		if there {
			return m, slot, nil
		}
	}
	return nil, 0, errors.Join(err, fmt.Errorf("no master has %s", key))
}

// OpenSlot begins to move a slot, as redis-cli does it: new keys are made at the one, old ones are
// served by the other.
func (c *Cluster) OpenSlot(ctx context.Context, slot int64, from, to *Redis) error {
	return errors.Join(
		to.setSlot(ctx, slot, "IMPORTING", from),
		from.setSlot(ctx, slot, "MIGRATING", to),
	)
}

// MoveKeys moves keys of a slot that was opened, by one command.
func (c *Cluster) MoveKeys(ctx context.Context, from, to *Redis, keys ...string) error {
	host, port, _ := net.SplitHostPort(to.Addr()) // addrOf made it
	args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	for _, key := range keys {
		args = append(args, key)
	}
	return from.ask(ctx, func(r *redis.Client) error { return r.Do(ctx, args...).Err() })
}

// KeysInSlot returns the first keys that a node has of a slot, a hundred at most.
func (c *Cluster) KeysInSlot(ctx context.Context, slot int64, node *Redis) (keys []string, err error) {
	const most = 100
	err = node.ask(ctx, func(r *redis.Client) (err error) {
		keys, err = r.ClusterGetKeysInSlot(ctx, int(slot), most).Result()
		return err //nolint:wrapcheck // ask wraps it
	})
	return keys, err
}

// MoveSlot moves the keys of a slot that was opened, a few at a time, and closes it.
func (c *Cluster) MoveSlot(ctx context.Context, slot int64, from, to *Redis) error {
	for {
		keys, err := c.KeysInSlot(ctx, slot, from)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return c.CloseSlot(ctx, slot, to)
		}
		if err := c.MoveKeys(ctx, from, to, keys[:min(keysPerMove, len(keys))]...); err != nil {
			return err
		}
	}
}

// CloseSlot assigns a slot: its new owner hears of it first, so that the slot always has an owner.
func (c *Cluster) CloseSlot(ctx context.Context, slot int64, to *Redis) error {
	if err := to.setSlot(ctx, slot, "NODE", to); err != nil {
		return err
	}
	masters, err := c.Masters(ctx)
	for _, m := range masters {
		err = errors.Join(err, m.setSlot(ctx, slot, "NODE", to))
	}
	return err
}

func (r *Redis) setSlot(ctx context.Context, slot int64, state string, other *Redis) error {
	var id string
	if err := other.ask(ctx, func(r *redis.Client) (err error) {
		id, err = r.ClusterMyID(ctx).Result()
		return err //nolint:wrapcheck // ask wraps it
	}); err != nil {
		return err
	}
	return r.ask(ctx, func(r *redis.Client) error { return r.Do(ctx, "CLUSTER", "SETSLOT", slot, state, id).Err() })
}

// Rebalance has redis-cli move slots until all masters have equally many, and the drained ones none.
func (c *Cluster) Rebalance(ctx context.Context, drained ...*Redis) error {
	cli, err := look("redis-cli", "redis-tools")
	if err != nil {
		return err
	}
	running := slices.DeleteFunc(c.Nodes(), func(n *Redis) bool { return n.PID() == 0 })
	args := []string{"--cluster", "rebalance", running[0].Addr(), "--cluster-use-empty-masters", "--cluster-threshold", "1"}
	var weights []string
	for _, d := range drained {
		if err := d.ask(ctx, func(r *redis.Client) error {
			id, err := r.ClusterMyID(ctx).Result()
			weights = append(weights, id+"=0")
			return err //nolint:wrapcheck // ask wraps it
		}); err != nil {
			return err
		}
	}
	if len(weights) > 0 {
		args = append(args, "--cluster-weight", strings.Join(weights, " "))
	}
	return run(ctx, filepath.Join(c.dir, "rebalance.log"), nil, cli, args...)
}

// fixWithin is more than nodes take to hear of each other.
const fixWithin = time.Minute

// Fix has redis-cli bring slots that were left open to the end of their move. While nodes have not heard yet
// of the last change, redis-cli fails although there is nothing to mend: then it is run again.
func (c *Cluster) Fix(ctx context.Context) error {
	cli, err := look("redis-cli", "redis-tools")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fixWithin)
	defer cancel()
	for _, n := range c.nodes {
		if n.PID() != 0 {
			return await(ctx, func(ctx context.Context) error {
				return run(ctx, filepath.Join(c.dir, "fix.log"), nil, cli, "--cluster", "fix", n.Addr(), "--cluster-yes")
			})
		}
	}
	return errors.New("no node of the cluster runs")
}

// AwaitTakeover returns when a master that has died has no slots any more, as all nodes see it but some. A
// node that imports a slot of the dead one sees it there until the move is ended.
func (c *Cluster) AwaitTakeover(ctx context.Context, dead *Redis, but ...*Redis) error {
	return await(ctx, func(ctx context.Context) error {
		for _, n := range c.nodes {
			if n == dead || n.PID() == 0 || slices.Contains(but, n) {
				continue
			}
			view, err := n.clusterView(ctx)
			if err == nil && (!view.ok || view.masters[dead.Addr()]) {
				err = fmt.Errorf("%s sees no other master in the place of %s", n.Addr(), dead.Addr())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Stabilize ends the move of a slot: its keys there are all that it has.
func (c *Cluster) Stabilize(ctx context.Context, slot int64, owner *Redis) error {
	return owner.ask(ctx, func(r *redis.Client) error { return r.Do(ctx, "CLUSTER", "SETSLOT", slot, "STABLE").Err() })
}
