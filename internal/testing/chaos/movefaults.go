package chaos

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"example.com/seckill/internal/tools/servers"
)

// moveFaults are the operations of operators on a Cluster, and their interruptions. Slots move from master to
// master while buyers buy from the shards in them. There are units for all buyers, so that each buyer needs
// only the home shard.
func moveFaults() []Fault {
	all := []Fault{
		{Name: "cluster:slots-moved", harm: slotsMoved, whole: true},
		{Name: "cluster:slot-open", harm: slotOpen, whole: true},
		{Name: "cluster:half-moved", harm: halfMoved, whole: true},
		{Name: "cluster:failover-while-moving", harm: failoverWhileMoving},
		{Name: "cluster:master-added", before: addMaster, harm: masterAdded, whole: true},
		{Name: "cluster:master-taken-away", harm: masterTakenAway, whole: true},
		{Name: "cluster:mover-killed", before: addMaster, harm: moverKilled, whole: true},
	}
	for n := range all {
		all[n].kind, all[n].plenty, all[n].lasts = cluster, true, moveLasts
	}
	return all
}

const (
	moveLasts = 40 * time.Second // at most: when the slots are in place, the remaining buyers come at once
	// closedWithin is how long a shard may reject its buyers while its slot moves.
	closedWithin = time.Second
	// beforeSlots is how long a new master must be up before it gets slots. beforeStop is how long a master
	// must stay after it has lost its last slot. docs/MAINTENANCE.md has both times.
	beforeSlots = 10 * time.Second
	beforeStop  = 3 * time.Second
)

// move is the slot of a shard that moves to another master.
type move struct {
	slot     int64
	from, to *servers.Redis
}

// begin opens the slot of a shard for a move to any other master. It then moves some of the shard's keys
// individually, up to the number in most.
func (r *round) begin(ctx context.Context, shard, most int) (m move, err error) {
	c := r.env.nodes
	if m.from, m.slot, err = c.Owner(ctx, "seckill:{"+r.coupon+":"+strconv.Itoa(shard)+"}:stock"); err != nil {
		return m, err
	}
	masters, err := c.Masters(ctx)
	if err != nil {
		return m, err
	}
	for m.to = m.from; m.to == m.from; {
		m.to = masters[r.rng.IntN(len(masters))]
	}
	if err := c.OpenSlot(ctx, m.slot, m.from, m.to); err != nil {
		return m, err
	}
	keys, err := c.KeysInSlot(ctx, m.slot, m.from)
	for _, key := range keys[:min(most, len(keys))] {
		if err == nil {
			err = c.MoveKeys(ctx, m.from, m.to, key)
		}
	}
	return m, err
}

func (m move) end(ctx context.Context, c *servers.Cluster) error {
	return c.MoveSlot(ctx, m.slot, m.from, m.to)
}

// slotsMoved moves the slot of every shard, key by key, one after the other.
func slotsMoved(ctx context.Context, r *round) (bool, error) {
	r.closed.within(closedWithin, 0, 1, 2, 3)
	for n, shard := range r.rng.Perm(shards) {
		r.onTheWay(ctx, 10+10*n)
		m, err := r.begin(ctx, shard, 20)
		if err == nil {
			err = m.end(ctx, r.env.nodes)
		}
		if err != nil {
			return false, err
		}
	}
	return true, ctx.Err()
}

// openFor is how long a slot is left open.
const openFor = 5 * time.Second

// slotOpen leaves a slot open and moves none of its keys. No buyer may notice.
func slotOpen(ctx context.Context, r *round) (bool, error) {
	r.closed.within(0, 0, 1, 2, 3)
	r.onTheWay(ctx, 10+r.rng.IntN(20))
	m, err := r.begin(ctx, r.rng.IntN(shards), 0)
	if err != nil {
		return false, err
	}
	_ = sleep(ctx, openFor)
	return true, m.end(ctx, r.env.nodes)
}

// halfMoved simulates a mover that has died between two keys of a shard. The half-migrated shard is closed
// until another mover continues. No other shard may close.
func halfMoved(ctx context.Context, r *round) (bool, error) {
	shard := r.rng.IntN(shards)
	const left = 3 * time.Second // longer than calls wait for the slot
	r.closed.within(0, 0, 1, 2, 3)
	r.closed.within(left+closedWithin, shard)
	r.onTheWay(ctx, 10+r.rng.IntN(20))
	m, err := r.begin(ctx, shard, 1+r.rng.IntN(9))
	if err != nil {
		return false, err
	}
	_ = sleep(ctx, left)
	return true, m.end(ctx, r.env.nodes)
}

// failoverWhileMoving kills a master permanently while a slot is half-migrated: the source, the target or
// another master.
func failoverWhileMoving(ctx context.Context, r *round) (bool, error) {
	b := r.env
	b.spent = true
	r.onTheWay(ctx, 10+r.rng.IntN(20))
	m, err := r.begin(ctx, r.rng.IntN(shards), 1+r.rng.IntN(9))
	if err != nil {
		return false, err
	}
	masters, err := b.nodes.Masters(ctx)
	if err != nil {
		return false, err
	}
	dead := masters[r.rng.IntN(len(masters))]
	if err := dead.Kill(); err != nil {
		return false, err
	}
	if err := b.nodes.AwaitTakeover(ctx, dead, m.to); err != nil {
		return false, err
	}
	switch dead { // the slot stays at the master that serves it, with its remaining keys
	case m.from:
		if err := b.nodes.Stabilize(ctx, m.slot, m.to); err != nil {
			return true, err
		}
		return true, b.nodes.AwaitTakeover(ctx, dead)
	case m.to:
		return true, b.nodes.Stabilize(ctx, m.slot, m.from)
	}
	return true, m.end(ctx, b.nodes)
}

// addMaster has one more master join, without slots.
func addMaster(ctx context.Context, r *round) error {
	r.env.spent = true
	if _, err := r.env.nodes.AddMaster(ctx); err != nil {
		return err
	}
	_ = sleep(ctx, beforeSlots)
	return ctx.Err()
}

// masterAdded uses redis-cli to give the new master its part of all slots.
func masterAdded(ctx context.Context, r *round) (bool, error) {
	r.closed.within(closedWithin, 0, 1, 2, 3)
	r.onTheWay(ctx, 5)
	if err := r.env.nodes.Rebalance(ctx); err != nil {
		return false, err
	}
	masters, err := r.env.nodes.Masters(ctx)
	if err == nil && len(masters) != 4 {
		err = fmt.Errorf("%d masters have slots", len(masters))
	}
	return true, err
}

// masterTakenAway uses redis-cli to take all slots from a master, and stops the master.
func masterTakenAway(ctx context.Context, r *round) (bool, error) {
	r.env.spent = true
	r.closed.within(closedWithin, 0, 1, 2, 3)
	r.onTheWay(ctx, 5)
	masters, err := r.env.nodes.Masters(ctx)
	if err != nil {
		return false, err
	}
	leaving := masters[r.rng.IntN(len(masters))]
	if err := r.env.nodes.Rebalance(ctx, leaving); err != nil {
		return false, err
	}
	_ = sleep(ctx, beforeStop)
	return true, leaving.Kill()
}

// moverKilled kills redis-cli while it gives slots to a new master. It then repairs the half-migrated slots, as
// an operator does, and moves the rest.
func moverKilled(ctx context.Context, r *round) (bool, error) {
	r.closed.within(openFor, 0, 1, 2, 3) // until the repair
	r.onTheWay(ctx, 5)
	within, cancel := context.WithTimeout(ctx, 300*time.Millisecond+time.Duration(r.rng.Int64N(int64(2*time.Second))))
	err := r.env.nodes.Rebalance(within)
	struck := within.Err() != nil && err != nil
	cancel()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err := r.env.nodes.Fix(ctx); err != nil {
		return struck, err
	}
	return struck, r.env.nodes.Rebalance(ctx)
}
