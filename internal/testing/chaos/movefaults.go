package chaos

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"example.com/seckill/internal/tools/servers"
)

// moveFaults are what operators do to a Cluster, and what becomes of it when they are interrupted:
// slots go from master to master while the crowd buys from the shards in them. There are units for
// all, so that no buyer asks another shard than his own.
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
	moveLasts = 40 * time.Second // at most: what is left of the crowd comes at once when the slots are where they go
	// closedWithin is how long a shard may refuse its buyers for a slot that is moved.
	closedWithin = time.Second
	// beforeSlots is how long a new master must be up before it gets slots, and beforeStop how long one that has
	// none any more must stay: docs/MAINTENANCE.md has both times.
	beforeSlots = 10 * time.Second
	beforeStop  = 3 * time.Second
)

// move is a slot of a shard on its way.
type move struct {
	slot     int64
	from, to *servers.Redis
}

// begin opens the slot of a shard, to any other master, and moves some of its keys, each alone.
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

// slotOpen leaves a slot open of which no key is moved: no buyer may notice.
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

// halfMoved is a mover that has died between two keys of a shard. That is closed until another one goes on, and
// no other.
func halfMoved(ctx context.Context, r *round) (bool, error) {
	shard := r.rng.IntN(shards)
	const left = 3 * time.Second // for longer than calls wait for it
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

// failoverWhileMoving kills a master for good while a slot is half moved: the one that it is moved from, the one that
// it is moved to, or another one.
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
	switch dead { // the slot stays where it is served, with what is left of it
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

// masterAdded has redis-cli give the new master its part of all slots.
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

// masterTakenAway has redis-cli take all slots from a master, and stops it.
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

// moverKilled kills redis-cli while it gives a new master its slots. An operator has what it left mended, and the rest
// moved.
func moverKilled(ctx context.Context, r *round) (bool, error) {
	r.closed.within(openFor, 0, 1, 2, 3) // until it is mended
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
