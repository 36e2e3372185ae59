package stock

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Held is an open hold in its shard.
type Held struct {
	order.Hold
	Unit bool // false for the borrow mark of a buyer, whose unit a sibling lends
}

// pageSize is the number of holds, or fields of a hash, that one command reads. The server needs about a millisecond
// for them.
const pageSize = 500

// maxQueueWait is longer than the wait that any configuration allows an entry of a queue.
const maxQueueWait = 20 * time.Second

// OpenHolds returns the holds of a shard, in the order in which they age. It reads a page at a time. A hold on a
// borrowed unit is on two shards, the lender and the home shard. If the shard changes meanwhile, OpenHolds may miss a
// hold or return it twice. The last pair has the error, if there is an error.
func (s *Stock) OpenHolds(ctx context.Context, couponID int64, shard, shards int) iter.Seq2[Held, error] {
	return func(yield func(Held, error) bool) {
		for skip := 0; ; {
			page, read, err := s.holds(ctx, couponID, shard, shards, skip, pageSize, "")
			if err != nil {
				yield(Held{}, err)
				return
			}
			for _, h := range page {
				if !yield(h, nil) {
					return
				}
			}
			if skip += len(page); read == 0 {
				return
			}
		}
	}
}

// clockSlack is the largest expected difference between the clocks of a Cluster's servers. If a shard seems to have an
// old hold, a script on its own server decides by the clock of this server.
const clockSlack = 2 * time.Second

// OldShards implements order.Shards. It reads the number of holds of each shard. For a shard with holds it also reads
// the age of the oldest hold. If the index of ages lacks a hold, the shard counts as a shard with old holds. OldShards
// can compare the sizes of the hash of holds and of the index, because each has one mark.
func (s *Stock) OldShards(ctx context.Context, all []coupon.Coupon, age time.Duration) (shards [][]int, errs []error) {
	shards, errs = make([][]int, len(all)), make([]error, len(all))
	fail := func(at shardOf, err error) {
		errs[at.coupon] = fmt.Errorf("%w: holds of shard %d of coupon %d: %w", order.ErrUnavailable, at.shard, all[at.coupon].ID, err)
	}
	key := func(at shardOf, suffix string) string { return s.tag(all[at.coupon].ID, at.shard) + suffix }
	for trip := range slices.Chunk(shardsOf(all), shardsPerTrip) {
		counts := make([]*redis.IntCmd, len(trip))
		_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for n, at := range trip {
				counts[n] = p.HLen(ctx, key(at, "holds"))
			}
			return nil
		})
		var held []shardOf
		var holds []int64
		for n, at := range trip {
			if err := counts[n].Err(); err != nil {
				fail(at, err)
			} else if counts[n].Val() > 1 { // one field is the mark of the hash
				held, holds = append(held, at), append(holds, counts[n].Val())
			}
		}
		if len(held) == 0 {
			continue
		}
		s.addOld(ctx, all, held, holds, age, shards, fail)
	}
	return shards, errs
}

// addOld adds to shards the shards of held that may have old holds.
func (s *Stock) addOld(
	ctx context.Context, all []coupon.Coupon, held []shardOf, holds []int64, age time.Duration,
	shards [][]int, fail func(at shardOf, err error),
) {
	listed, oldest := make([]*redis.IntCmd, len(held)), make([]*redis.ZSliceCmd, len(held))
	var now *redis.TimeCmd
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		now = p.Time(ctx)
		for n, at := range held {
			ages := s.tag(all[at.coupon].ID, at.shard) + "ages"
			listed[n], oldest[n] = p.ZCard(ctx, ages), p.ZRangeWithScores(ctx, ages, 0, 0)
		}
		return nil
	})
	before := float64(now.Val().Add(clockSlack - age).UnixMilli())
	for n, at := range held {
		if err := cmp.Or(now.Err(), listed[n].Err(), oldest[n].Err()); err != nil {
			fail(at, err)
			continue
		}
		first := oldest[n].Val()
		if holds[n] > listed[n].Val() || len(first) > 0 && first[0].Score <= before {
			shards[at.coupon] = append(shards[at.coupon], at.shard)
		}
	}
}

// OldHolds implements order.Shards.
func (s *Stock) OldHolds(
	ctx context.Context, c coupon.Coupon, shard int, age time.Duration, skip, most int,
) ([]order.Hold, error) {
	for {
		page, read, err := s.holds(ctx, c.ID, shard, c.Shards, skip, min(most, pageSize), age.Milliseconds())
		if err != nil || len(page) == 0 && read == 0 {
			return nil, err
		}
		if len(page) > 0 {
			old := make([]order.Hold, len(page))
			for i, h := range page {
				old[i] = h.Hold
			}
			return old, nil
		}
	}
}

// holds reads a page of a shard's index of ages. It returns the holds, and the number of entries of the index that it
// has read. First it adds the holds that the index lacks.
func (s *Stock) holds(
	ctx context.Context, couponID int64, shard, shards, skip, most int, age any,
) (page []Held, read int64, err error) {
	for listed := false; ; listed = true {
		answer, err := s.run(ctx, holdsScript, couponID, shard, skip, most, age)
		if err != nil {
			return nil, 0, err
		}
		page, lacks, read, err := parseHolds(answer, couponID, shard, shards)
		if err != nil {
			return nil, 0, fmt.Errorf("holds of shard %d of coupon %d: %w", shard, couponID, err)
		}
		if lacks <= 0 || listed {
			return page, read, nil
		}
		if err := s.list(ctx, couponID, shard); err != nil {
			return nil, 0, err
		}
	}
}

// list adds the holds that the index of ages lacks to the index.
func (s *Stock) list(ctx context.Context, couponID int64, shard int) error {
	key := s.tag(couponID, shard) + "holds"
	for cursor := uint64(0); ; {
		fields, next, err := s.client.HScan(ctx, key, cursor, "", pageSize).Result()
		if err != nil {
			return fmt.Errorf("%w: %s: %w", order.ErrUnavailable, key, err)
		}
		args := []any{maxQueueWait.Milliseconds()}
		for i := 0; i < len(fields); i += 2 {
			args = append(args, fields[i])
		}
		if _, err := s.run(ctx, listScript, couponID, shard, args...); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

func parseHolds(answer []string, couponID int64, k, shards int) (page []Held, lacks, read int64, err error) {
	if len(answer) < 4 || len(answer)%2 != 0 {
		return nil, 0, 0, fmt.Errorf("a page of %d parts", len(answer))
	}
	var p parser
	epoch, now := p.number(answer[0]), p.number(answer[1])
	lacks, read = p.number(answer[2]), p.number(answer[3])
	for i := 4; i < len(answer); i += 2 {
		h, err := parseHold(answer[i], answer[i+1], now)
		if err != nil {
			return nil, 0, 0, err
		}
		h.CouponID, h.Epoch, h.Shards, h.Shard = couponID, epoch, shards, k
		page = append(page, h)
	}
	return page, lacks, read, p.err
}

// parseHold parses the text of an order's hold. The file reserve.lua describes the text. The parameter now is the time
// in milliseconds from which parseHold computes the age.
func parseHold(id, text string, now int64) (Held, error) {
	f := strings.Fields(text)
	if len(f) != 5 && len(f) != 6 {
		return Held{}, fmt.Errorf("hold %q of %d parts", id, len(f))
	}
	var p parser
	h := Held{Unit: f[0] != "mark", Hold: order.Hold{
		OrderID: p.number(id), RequestID: f[1], UserID: p.number(f[2]),
		Age: time.Duration(now-p.number(f[3])) * time.Millisecond,
	}}
	if h.Queued = len(f) == 6; h.Queued {
		h.Number = p.number(f[5])
	}
	return h, p.err
}
