package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

// manualFaults are faults that change Redis directly: they take the locks of a stopped instance,
// lose its holds, or add to the counters.
func manualFaults() []Fault {
	unlock := stepFault{point: "unlock.before", pass: 60}
	reserved := stepFault{point: "lock.before", pass: 60}
	return []Fault{
		{Name: "lock:passed-on", kind: plain, arm: unlock.arm("stop"), harm: passedOn},
		{Name: "redis:flushed-under-a-hold", kind: plain, arm: reserved.arm("stop"), harm: flushedUnderAHold, pause: reached, once: true},
		{Name: "redis:counted-too-high", kind: plain, harm: countedTooHigh},
	}
}

// reached is the least time for which an instance is stopped, so that whileStopped detects the stop.
const reached = 400 * time.Millisecond

// whileStopped runs do while an instance is stopped, and returns when the instance continues.
func whileStopped(ctx context.Context, r *round, do func() error) (bool, error) {
	for r.supervisor.down.Load() == 0 {
		if r.through() && r.supervisor.incidents.Load() == 0 || !sleep(ctx, time.Millisecond) {
			return false, ctx.Err()
		}
	}
	r.supervisor.mu.Lock()
	err := do()
	r.supervisor.mu.Unlock()
	if err != nil {
		return false, err
	}
	for !r.supervisor.healthy() {
		if !sleep(ctx, 5*time.Millisecond) {
			break
		}
	}
	return true, ctx.Err()
}

// intruder is the next holder of a user's lock.
const (
	intruder      = "somebody else"
	intruderLease = 8 * time.Second
)

// passedOn takes the locks of a stopped instance as soon as their leases have ended. When the instance
// continues, it must not release locks that it has lost.
func passedOn(ctx context.Context, r *round) (bool, error) {
	taken := map[string]bool{}
	rdb := r.env.rdb
	struck, err := whileStopped(ctx, r, func() error {
		until := time.Now().Add(paused - 100*time.Millisecond)
		locks, _, err := rdb.Scan(ctx, 0, "seckill:{lock:*}:"+lock.UserKeyPrefix+"*", 1_000_000).Result()
		if err != nil {
			return fmt.Errorf("look for locks: %w", err)
		}
		for time.Now().Before(until) && sleep(ctx, 10*time.Millisecond) {
			for _, key := range locks {
				ours, err := rdb.SetNX(ctx, key, intruder, intruderLease).Result()
				if err != nil {
					return fmt.Errorf("take a lock: %w", err)
				}
				taken[key] = taken[key] || ours
			}
		}
		return nil
	})
	if !struck {
		return false, err
	}
	_ = sleep(ctx, briefly/2) // calls under way have arrived
	for key, ours := range taken {
		if !ours { // it never became free
			continue
		}
		switch holder, err := rdb.GetDel(ctx, key).Result(); {
		case errors.Is(err, redis.Nil):
			r.rec.problem("%s was released by a caller that did not hold it", key)
		case err != nil:
			return false, fmt.Errorf("give a lock back: %w", err)
		case holder != intruder:
			r.rec.problem("%s was taken from its holder", key)
		}
	}
	return true, nil
}

// flushedUnderAHold deletes all data of Redis while an instance that has just reserved is stopped. The instance
// continues when the other instance has loaded the stock again. It then has the rest of its time to commit an
// order whose hold is gone.
func flushedUnderAHold(ctx context.Context, r *round) (bool, error) {
	return whileStopped(ctx, r, func() error {
		before, err := r.env.readState(ctx, r.coupon)
		if err != nil {
			return err
		}
		if err := r.env.rdb.FlushAll(ctx).Err(); err != nil {
			return fmt.Errorf("flush Redis: %w", err)
		}
		for last := time.Now().Add(answerTimeout); time.Now().Before(last) && sleep(ctx, 5*time.Millisecond); {
			if now, err := r.env.readState(ctx, r.coupon); err == nil && now.loaded && now.epoch > before.epoch {
				break
			}
		}
		return nil
	})
}

// countedTooHigh lets the shards admit twice the buyers that there are units for: the database decides. After
// the workload, countedTooHigh removes the added units from the shards, wherever they are.
func countedTooHigh(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	var counters []string
	for k := range shards {
		counters = append(counters, fmt.Sprintf("seckill:{%s:%d}:stock", r.coupon, k))
	}
	each := int64(len(r.wishes)/3/shards + 1)
	for _, key := range counters {
		if err := r.env.rdb.IncrBy(ctx, key, each).Err(); err != nil {
			return false, fmt.Errorf("add to a counter: %w", err)
		}
	}
	<-r.done
	for last := time.Now().Add(r.bound); time.Now().Before(last) && sleep(ctx, 20*time.Millisecond); {
		if t, err := r.env.readState(ctx, r.coupon); err == nil && t.holds == 0 && t.returns == 0 {
			break
		}
	}
	added := each * shards
	for _, key := range counters {
		left, err := r.env.rdb.Get(ctx, key).Int64()
		if err == nil {
			err = r.env.rdb.DecrBy(ctx, key, min(left, added)).Err()
		}
		if err != nil {
			return false, fmt.Errorf("take from a counter: %w", err)
		}
		added -= min(left, added)
	}
	return true, ctx.Err()
}
