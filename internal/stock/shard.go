package stock

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Shard is the content of one shard at one moment.
type Shard struct {
	Open     bool // it has a counter
	Epoch    int64
	Ops      int64 // grows with every write
	Units    int64
	Holds    int64
	Requests int64 // requests on record, those with a hold among them
	Buyers   int64 // users with confirmed orders
	Raised   int64 // units added since the epoch began
}

// ReadShards returns every shard, each as of a moment of its own, in few round trips. A shard whose answer is lost is
// read once more.
func (s *Stock) ReadShards(ctx context.Context, couponID int64, shards int) ([]Shard, error) {
	one := []coupon.Coupon{{ID: couponID, Shards: shards}}
	all := make([]Shard, 0, shards)
	for trip := range slices.Chunk(shardsOf(one), shardsPerTrip) {
		for k, cmd := range s.runTrip(ctx, shardScript, one, trip, func(coupon.Coupon, string) []any { return nil }) {
			answer, err := cmd.StringSlice()
			if err != nil {
				answer, err = s.run(ctx, shardScript, couponID, trip[k].shard)
			}
			var read Shard
			if err == nil {
				read, err = parseShard(answer)
			}
			if err != nil {
				return nil, fmt.Errorf("read shard %d of coupon %d: %w", trip[k].shard, couponID, err)
			}
			all = append(all, read)
		}
	}
	return all, nil
}

func parseShard(answer []string) (Shard, error) {
	if len(answer) != 7 {
		return Shard{}, fmt.Errorf("a shard of %d parts", len(answer))
	}
	var p parser
	shard := Shard{
		Open: answer[2] != "", Epoch: p.number(answer[0]), Ops: p.number(answer[1]), Units: p.number(answer[2]),
		Holds: p.number(answer[3]), Requests: p.number(answer[4]), Buyers: p.number(answer[5]), Raised: p.number(answer[6]),
	}
	return shard, p.err
}

// parser parses numbers and keeps the first error; an empty text is 0.
type parser struct{ err error }

func (p *parser) number(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && p.err == nil {
		p.err = err
	}
	return n
}

// Applied reports for each restock whether the shards have it.
func (s *Stock) Applied(ctx context.Context, returns []order.Restock) ([]bool, error) {
	cmds := make([]*redis.BoolCmd, len(returns))
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, r := range returns {
			if r.Shards > 0 {
				cmds[i] = p.SIsMember(ctx, s.tag(r.CouponID, coupon.Home(r.UserID, r.Shards))+"returned", r.OrderID)
			}
		}
		return nil
	})
	applied := make([]bool, len(returns))
	for i, cmd := range cmds {
		if cmd == nil {
			continue // it went back when there were no shards
		}
		var err error
		if applied[i], err = cmd.Result(); err != nil {
			return nil, fmt.Errorf("%w: return of order %d: %w", order.ErrUnavailable, returns[i].OrderID, err)
		}
	}
	return applied, nil
}
