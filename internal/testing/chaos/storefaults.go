package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/platform/system"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/tools/servers"
)

// How long a fault lasts.
const (
	briefly = 700 * time.Millisecond
	longer  = 1600 * time.Millisecond // longer than a lease, a transaction and a client's timeout
)

// storeFaults are the faults of whole components and whole instances. Each strikes when a random
// part of the stock is sold.
func storeFaults() []Fault {
	cells := []Fault{
		{Name: "nothing", harm: nothing},
		{Name: "instance:kill", harm: signal(syscall.SIGKILL)},
		{Name: "instance:stop", harm: signal(system.SIGSTOP)},
		{Name: "instance:terminate", harm: terminate},
		{Name: "redis:kill", harm: redisKill},
		{Name: "redis:stop", harm: redisStop},
		{Name: "redis:scripts-flushed", harm: scriptsFlushed},
		{Name: "redis:flushed", harm: redisFlushed},
		{Name: "redis:restarted-empty", harm: restartedEmpty},
		{Name: "database:kill", harm: databaseKill},
		{Name: "database:kill-in-commit", harm: databaseKillInCommit, once: true},
		{Name: "database:stop", harm: databaseStop},
		{Name: "database:commits-stalled", harm: session(stallCommits...)},
		{Name: "database:read-locked", harm: session("FLUSH TABLES WITH READ LOCK")},
		{Name: "database:row-held", harm: session("BEGIN", "SELECT id FROM coupons WHERE id = ? FOR UPDATE")},
		{Name: "database:row-held-for-long", kind: patient, harm: session("BEGIN", "SELECT id FROM coupons WHERE id = ? FOR UPDATE")},
		{Name: "payment:races-expiry", kind: expiring, harm: nothing, races: true},
		{Name: "redis:failover-to-old-data", kind: proxied, harm: failover},
		{Name: "network:redis-cut", kind: proxied, harm: network(false, briefly, faultnet.Reset)},
		{Name: "network:redis-swallowed", kind: proxied, harm: network(false, longer, faultnet.BlackHole)},
		{Name: "network:redis-replies-lost", kind: proxied, harm: network(false, longer, faultnet.NoReplies)},
		{Name: "network:redis-replies-cut", kind: proxied, harm: network(false, longer, faultnet.CutRepliesAfter(5000))},
		{Name: "network:redis-replies-cut-often", kind: proxied, harm: network(false, longer, faultnet.CutRepliesAfter(400)), limit: 2},
		{Name: "network:redis-slow", kind: proxied, harm: network(false, longer, slowReplies)},
		{Name: "network:database-cut", kind: proxied, harm: network(true, briefly, faultnet.Reset)},
		{Name: "network:database-swallowed", kind: proxied, harm: network(true, longer, faultnet.BlackHole)},
		{Name: "network:database-replies-lost", kind: proxied, harm: network(true, longer, faultnet.NoReplies)},
		{Name: "network:database-replies-cut", kind: proxied, harm: network(true, longer, faultnet.CutRepliesAfter(5000))},
		{Name: "network:database-slow", kind: proxied, harm: network(true, longer, slowReplies)},
		{Name: "cluster:nothing", kind: cluster, harm: nothing},
		{Name: "cluster:shard-kill", kind: cluster, harm: shardKill(briefly)},
		{Name: "cluster:failover", kind: cluster, harm: shardKill(6 * time.Second)},
	}
	for n := range cells {
		if cells[n].kind == "" {
			cells[n].kind = plain
		}
	}
	return cells
}

// nothing does nothing.
func nothing(ctx context.Context, r *round) (bool, error) {
	<-r.done
	return true, ctx.Err()
}

// signal sends a signal to an instance, wherever it is in the path. The supervisor does the rest.
func signal(s syscall.Signal) func(context.Context, *round) (bool, error) {
	return func(ctx context.Context, r *round) (bool, error) {
		r.onTheWay(ctx, 10+r.rng.IntN(70))
		r.env.fleet[r.rng.IntN(instances)].now().Signal(s)
		for r.supervisor.incidents.Load() == 0 && ctx.Err() == nil {
			_ = sleep(ctx, time.Millisecond)
		}
		return true, ctx.Err()
	}
}

// exitTimeout is how long an instance may take to end in order.
const exitTimeout = 15 * time.Second

// terminate ends an instance in order, and starts a new one. No request in progress may be without
// its answer.
func terminate(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	i := r.env.fleet[r.rng.IntN(instances)]
	began := time.Now()
	i.leave()
	if err := i.end(); err != nil {
		r.rec.problem("%v", err)
	}
	if took := time.Since(began); took > exitTimeout {
		r.rec.problem("%s took %s to end", i.name, took)
	}
	r.rec.mu.Lock()
	if r.rec.lost > 0 {
		r.rec.problemLocked("%d requests had no answer from an instance that ended in order", r.rec.lost)
	}
	r.rec.mu.Unlock()
	return true, i.start(ctx)
}

func redisKill(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	return true, killAndRestart(ctx, r.env.Redis.Process, briefly)
}

// killAndRestart kills a server, and starts it again after a while.
func killAndRestart(ctx context.Context, p *servers.Process, away time.Duration) error {
	if err := p.Kill(); err != nil {
		return err
	}
	_ = sleep(ctx, away)
	return p.Restart(ctx)
}

func redisStop(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	return true, stopAndGoOn(ctx, r.env.Redis.Process)
}

func stopAndGoOn(ctx context.Context, p *servers.Process) error {
	if err := p.Pause(); err != nil {
		return err
	}
	_ = sleep(ctx, longer)
	return p.Resume()
}

// scriptsFlushed forgets every script again and again.
func scriptsFlushed(ctx context.Context, r *round) (bool, error) {
	for {
		if err := r.env.rdb.ScriptFlush(ctx).Err(); err != nil {
			return false, fmt.Errorf("flush the scripts: %w", err)
		}
		select {
		case <-r.done:
			return true, nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func redisFlushed(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	if err := r.env.rdb.FlushAll(ctx).Err(); err != nil {
		return false, fmt.Errorf("flush Redis: %w", err)
	}
	return true, nil
}

func restartedEmpty(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	if err := r.env.Redis.Kill(); err != nil {
		return false, err
	}
	if err := r.env.Redis.RemoveData(); err != nil {
		return false, err
	}
	_ = sleep(ctx, rand.N(briefly)) //nolint:gosec // any time will do
	return true, r.env.Redis.Restart(ctx)
}

// failover leads the fleet to a replica that stopped following a while ago.
func failover(ctx context.Context, r *round) (_ bool, err error) {
	b := r.env
	at := 10 + r.rng.IntN(40)
	r.onTheWay(ctx, at)
	spare := redis.NewClient(&redis.Options{Addr: b.spare.Addr()})
	defer func() { err = errors.Join(err, spare.Close()) }()
	if err := spare.Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		return false, fmt.Errorf("detach the replica: %w", err)
	}
	r.onTheWay(ctx, at+5+r.rng.IntN(30))
	if err := b.toR.Point(b.spare.Addr()); err != nil {
		return false, err
	}
	old := b.rdb
	b.lead(redisClient(b.spare.Addr()))
	b.Redis, b.spare = b.spare, b.Redis
	if err := old.Close(); err != nil {
		return false, fmt.Errorf("leave the old master: %w", err)
	}
	return true, b.follow(ctx)
}

// follow makes the spare a replica, and waits until it has everything.
func (b *environment) follow(ctx context.Context) (err error) {
	c := redis.NewClient(&redis.Options{Addr: b.spare.Addr()})
	defer func() { err = errors.Join(err, c.Close()) }()
	host, port, _ := strings.Cut(b.Redis.Addr(), ":")
	if err := c.Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		return fmt.Errorf("attach the replica: %w", err)
	}
	for range 500 {
		if info, err := c.Info(ctx, "replication").Result(); err == nil && strings.Contains(info, "master_link_status:up") {
			return nil
		}
		_ = sleep(ctx, 10*time.Millisecond)
	}
	return errors.New("the replica does not follow")
}

// slowReplies is a network that is slow, and not evenly.
var slowReplies = faultnet.DelayReplies(30*time.Millisecond, 30*time.Millisecond)

// network makes the way to Redis or to the database bad for a while.
func network(database bool, d time.Duration, faults ...faultnet.Fault) func(context.Context, *round) (bool, error) {
	return func(ctx context.Context, r *round) (bool, error) {
		p := r.env.toR
		if database {
			p = r.env.toDB
		}
		r.onTheWay(ctx, 10+r.rng.IntN(70))
		end := p.Inject(faults...)
		_ = sleep(ctx, d)
		end()
		return true, nil
	}
}

// shardKill kills one master of the cluster and starts it again: before its replica
// takes over, or long after.
func shardKill(away time.Duration) func(context.Context, *round) (bool, error) {
	return func(ctx context.Context, r *round) (bool, error) {
		r.onTheWay(ctx, 10+r.rng.IntN(70))
		masters, err := r.env.nodes.Masters(ctx)
		if err != nil {
			return false, err
		}
		return true, killAndRestart(ctx, masters[r.rng.IntN(len(masters))].Process, away)
	}
}
