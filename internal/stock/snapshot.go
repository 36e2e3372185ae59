package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"seckill/internal/order"
)

// Shard is what one shard held at one moment.
type Shard struct {
	Open  bool // it has a counter
	Epoch int64
	Ops   int64 // grows with every write
	Units int64
	Holds []Held
}

// Held is an open hold as its shard has it.
type Held struct {
	order.Hold
	Unit bool // false for the mark of a buyer whose unit a sibling lends
}

// Snapshot reads every shard, each at one moment of its own. With an error it gives
// the shards that could be read, the others being empty.
func (s *Stock) Snapshot(ctx context.Context, couponID int64, shards int) ([]Shard, error) {
	all := make([]Shard, shards)
	var failed error
	for k := range all {
		answer, err := s.run(ctx, snapshotScript, couponID, k)
		if err == nil {
			all[k], err = parseShard(answer, couponID, k, shards)
		}
		if err != nil {
			failed = fmt.Errorf("read shard %d of coupon %d: %w", k, couponID, err)
		}
	}
	return all, failed
}

func parseShard(answer []string, couponID int64, k, shards int) (Shard, error) {
	if len(answer) < 4 || len(answer)%2 != 0 {
		return Shard{}, fmt.Errorf("snapshot of %d parts", len(answer))
	}
	var p parser
	shard := Shard{Open: answer[2] != "", Epoch: p.number(answer[0]), Ops: p.number(answer[1]), Units: p.number(answer[2])}
	now := p.number(answer[3])
	for i := 4; i < len(answer); i += 2 {
		f := strings.Fields(answer[i+1]) //nolint:gosec // its length is even
		if len(f) != 5 && len(f) != 6 {
			return Shard{}, fmt.Errorf("hold %q of %d parts", answer[i], len(f))
		}
		h := Held{
			Unit: f[0] != "mark",
			Hold: order.Hold{
				CouponID: couponID, OrderID: p.number(answer[i]), RequestID: f[1], UserID: p.number(f[2]),
				Epoch: shard.Epoch, Shards: shards, Shard: k,
				Age: time.Duration(now-p.number(f[3])) * time.Millisecond,
			},
		}
		if h.Queued = len(f) == 6; h.Queued {
			h.Number = p.number(f[5])
		}
		shard.Holds = append(shard.Holds, h)
	}
	return shard, p.err
}

// parser reads numbers and keeps the first error; an empty text is 0.
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

// OpenHolds lists what the shards hold for requests that are still open. A hold
// whose unit was lent is listed twice, once on each of its shards. With an error it
// lists those of the shards that could be read: one that is away does not keep the
// others' holds from being settled.
func (s *Stock) OpenHolds(ctx context.Context, couponID int64, shards int) ([]order.Hold, error) {
	all, err := s.Snapshot(ctx, couponID, shards)
	var open []order.Hold
	for _, shard := range all {
		for _, h := range shard.Holds {
			open = append(open, h.Hold)
		}
	}
	return open, err
}

// Applied says of each return whether the shards have it.
func (s *Stock) Applied(ctx context.Context, returns []order.Return) ([]bool, error) {
	applied := make([]bool, len(returns))
	for i, r := range returns {
		key := tag(r.CouponID, Home(r.UserID, r.Shards)) + "returned"
		has, err := s.client.SIsMember(ctx, key, r.OrderID).Result()
		if err != nil {
			return nil, fmt.Errorf("%w: return of order %d: %w", order.ErrUnavailable, r.OrderID, err)
		}
		applied[i] = has
	}
	return applied, nil
}

// History reads the requests that a shard remembers, those with an open hold among
// them: the id of the order that each is for. A request whose unit was lent is
// remembered by both of its shards.
func (s *Stock) History(ctx context.Context, couponID int64, shard int) (map[string]int64, error) {
	return s.numbers(ctx, couponID, shard, "requests")
}

// Buyers reads how many confirmed orders each user has, by the accounts of all shards.
// Open holds are not among them.
func (s *Stock) Buyers(ctx context.Context, couponID int64, shards int) (map[int64]int64, error) {
	all := map[int64]int64{}
	for shard := range shards {
		counts, err := s.numbers(ctx, couponID, shard, "buyers")
		if err != nil {
			return nil, err
		}
		var p parser
		for user, n := range counts {
			all[p.number(user)] += n
		}
		if p.err != nil {
			return nil, fmt.Errorf("buyers of shard %d of coupon %d: %w", shard, couponID, p.err)
		}
	}
	return all, nil
}

// numbers reads a shard's hash whose values are numbers, a page at a time. What is
// changed meanwhile may be read or not.
func (s *Stock) numbers(ctx context.Context, couponID int64, shard int, hash string) (map[string]int64, error) {
	const page = 1000
	all := map[string]int64{}
	var p parser
	scan := s.client.HScan(ctx, tag(couponID, shard)+hash, 0, "", page).Iterator()
	for scan.Next(ctx) {
		field := scan.Val()
		if !scan.Next(ctx) {
			break
		}
		all[field] = p.number(scan.Val())
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%w: %s of shard %d of coupon %d: %w", order.ErrUnavailable, hash, shard, couponID, err)
	}
	if p.err != nil {
		return nil, fmt.Errorf("%s of shard %d of coupon %d: %w", hash, shard, couponID, p.err)
	}
	return all, nil
}
