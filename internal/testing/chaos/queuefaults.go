package chaos

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// queueFaults are faults of the queues themselves, which change Redis directly: they write entries
// that cannot be read, or take entries and never serve them.
func queueFaults() []Fault {
	deadLetter := func(action string) func(r *round) map[int]string {
		return func(*round) map[int]string { // whichever instance comes to it
			return map[int]string{0: "dead-letter." + action + ":1", 1: "dead-letter." + action + ":1"}
		}
	}
	cells := []Fault{
		{Name: "queue:poison", harm: poisoned},
		{Name: "queue:poison-buried-twice", arm: deadLetter("before:kill"), harm: poisoned},
		{Name: "queue:poison-buried-unheard", arm: deadLetter("after:lose"), harm: poisoned},
		{Name: "queue:consumer-gone", harm: takenAway(0)},
		{Name: "queue:consumer-gone-five-times", harm: takenAway(9)},
	}
	for n := range cells {
		cells[n].kind, cells[n].queue = plain, true
	}
	return cells
}

// consumers is the group that serves the queues.
const consumers = "orders"

func (r *round) queues() (all []string) {
	for k := range shards {
		all = append(all, "seckill:{"+r.coupon+":"+strconv.Itoa(k)+"}:queue")
	}
	return all
}

// poisoned writes unreadable entries while the workload runs: of no order, and beside an existing
// entry, for the same hold. Each must end as a dead letter.
func poisoned(ctx context.Context, r *round) (bool, error) {
	const pause, most = 15 * time.Millisecond, 40
	written := int64(0)
	for n := 0; written < most && !r.through() && sleep(ctx, pause); n++ {
		queue := r.queues()[n%shards]
		order, attempt := "7", "7" // of no order
		if n%2 == 0 {
			found, err := r.env.rdb.XRevRangeN(ctx, queue, "+", "-", 1).Result()
			if err != nil {
				return false, fmt.Errorf("look into a queue: %w", err)
			}
			if len(found) == 0 {
				continue
			}
			order, _ = found[0].Values["order"].(string)
			attempt, _ = found[0].Values["attempt"].(string)
		}
		err := r.env.rdb.XAdd(ctx, &redis.XAddArgs{
			Stream: queue, NoMkStream: true, Values: []string{"order", order, "attempt", attempt, "entry", "{"},
		}).Err()
		switch {
		case err == nil:
			written++
		case !errors.Is(err, redis.Nil): // there is no queue yet
			return false, fmt.Errorf("write into a queue: %w", err)
		}
	}
	<-r.done
	for last := time.Now().Add(r.bound); sleep(ctx, 20*time.Millisecond); {
		dead, err := r.deadLetters(ctx)
		if err != nil {
			return false, err
		}
		if dead == written {
			break
		}
		if time.Now().After(last) {
			r.rec.problem("%d entries cannot be read, and there are %d dead letters after %s", written, dead, r.bound)
			break
		}
	}
	return written > 0, ctx.Err()
}

// deadLetters returns the number of dead letters of the coupon.
func (r *round) deadLetters(ctx context.Context) (n int64, err error) {
	for _, queue := range r.queues() {
		dead, err := r.env.rdb.XLen(ctx, strings.TrimSuffix(queue, "queue")+"dead").Result()
		if err != nil {
			return 0, fmt.Errorf("count the dead letters: %w", err)
		}
		n += dead
	}
	return n, nil
}

// takenAway is a consumer that takes entries and disappears. Entries with that many recorded deliveries are given up
// once they are too old.
func takenAway(deliveries int) func(ctx context.Context, r *round) (bool, error) {
	const pause, name = time.Millisecond, "somebody who is gone"
	return func(ctx context.Context, r *round) (bool, error) {
		taken := 0
		for n := 0; taken < len(r.wishes)/10 && !r.through() && sleep(ctx, pause); n++ {
			queue := r.queues()[n%shards]
			read, err := r.env.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
				Group: consumers, Consumer: name, Streams: []string{queue, ">"}, Count: 4, Block: -1,
			}).Result()
			if err != nil || len(read) == 0 {
				continue // nothing is there, or no queue yet
			}
			for _, m := range read[0].Messages {
				taken++
				if deliveries == 0 {
					continue
				}
				// XClaimArgs lacks the count.
				if err := r.env.rdb.Do(ctx, "XCLAIM", queue, consumers, name, 0, m.ID, "RETRYCOUNT", deliveries).Err(); err != nil {
					return false, fmt.Errorf("note deliveries: %w", err)
				}
			}
		}
		<-r.done
		return taken > 0, ctx.Err()
	}
}
