package stock

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Trace is what the shards know of an order: its user's home and, if that is another,
// the sibling that its unit came from.
type Trace struct {
	Home, Lender ShardRecord
	Bought       int64 // confirmed orders of its user
	Returned     bool  // its unit is back
}

// ShardRecord is what a shard knows of an order's request.
type ShardRecord struct {
	OrderID int64 // the order that the request is remembered for; 0: none
	Hold    *Held // of that order, if it is open
}

// Traces reads what the shards know of each order, in one round trip, or two if there
// are holds. heads are the shards as ReadShards read them.
func (s *Stock) Traces(ctx context.Context, couponID int64, heads []Shard, orders []order.Order) ([]Trace, error) {
	traces := make([]Trace, len(orders))
	if len(heads) == 0 {
		return traces, nil
	}
	seekers := make([]traceBatch, len(heads))
	for i, o := range orders {
		home := coupon.Home(o.UserID, len(heads))
		seekers[home].add(o, i, &traces[i].Home)
		if o.Shard != home && o.Shard >= 0 && o.Shard < len(heads) {
			seekers[o.Shard].add(o, -1, &traces[i].Lender)
		}
	}
	for _, ask := range []func(p redis.Pipeliner, k int) (read func() error){
		func(p redis.Pipeliner, k int) func() error {
			return seekers[k].requests(ctx, p, s.tag(couponID, k), traces)
		},
		func(p redis.Pipeliner, k int) func() error {
			return seekers[k].holds(ctx, p, s.tag(couponID, k), heads[k])
		},
	} {
		reads := make([]func() error, len(heads))
		_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for k := range heads {
				reads[k] = ask(p, k)
			}
			return nil
		})
		for k, read := range reads {
			if read == nil {
				continue
			}
			if err := read(); err != nil {
				return nil, fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, k, couponID, err)
			}
		}
	}
	return traces, nil
}

// traceBatch asks one shard for what it knows.
type traceBatch struct {
	names []string       // of requests
	into  []*ShardRecord // what is known of each
	users []string
	ids   []any
	of    []int // the trace that a user and an id are of
}

func (s *traceBatch) add(o order.Order, trace int, into *ShardRecord) {
	s.names, s.into = append(s.names, o.RequestID), append(s.into, into)
	if trace >= 0 {
		s.users = append(s.users, strconv.FormatInt(o.UserID, 10))
		s.ids, s.of = append(s.ids, o.ID), append(s.of, trace)
	}
}

// requests asks for the requests and, at home, for the users' orders and the returns.
func (s *traceBatch) requests(ctx context.Context, p redis.Pipeliner, tag string, traces []Trace) func() error {
	if len(s.names) == 0 {
		return nil
	}
	known := p.HMGet(ctx, tag+"requests", s.names...)
	var bought *redis.SliceCmd
	var returned *redis.BoolSliceCmd
	if len(s.users) > 0 {
		bought, returned = p.HMGet(ctx, tag+"buyers", s.users...), p.SMIsMember(ctx, tag+"returned", s.ids...)
	}
	return func() error {
		var n parser
		if err := known.Err(); err != nil {
			return err
		}
		for i, value := range known.Val() {
			s.into[i].OrderID = n.number(stringOf(value))
		}
		if bought == nil {
			return n.err
		}
		if _, err := bought.Result(); err != nil {
			return err //nolint:wrapcheck // as above
		}
		if _, err := returned.Result(); err != nil {
			return err //nolint:wrapcheck // as above
		}
		for i, of := range s.of {
			traces[of].Bought, traces[of].Returned = n.number(stringOf(bought.Val()[i])), returned.Val()[i]
		}
		return n.err
	}
}

// holds asks for the holds of the orders that the requests are remembered for.
func (s *traceBatch) holds(ctx context.Context, p redis.Pipeliner, tag string, head Shard) func() error {
	var ids []string
	var into []*ShardRecord
	for _, m := range s.into {
		if m.OrderID != 0 && head.Holds > 0 {
			ids, into = append(ids, strconv.FormatInt(m.OrderID, 10)), append(into, m)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	texts := p.HMGet(ctx, tag+"holds", ids...)
	return func() error {
		if err := texts.Err(); err != nil {
			return err
		}
		for i, value := range texts.Val() {
			if value == nil {
				continue
			}
			h, err := parseHold(ids[i], stringOf(value), 0)
			if err != nil {
				return err
			}
			into[i].Hold = &h
		}
		return nil
	}
}

// stringOf is a value of a hash, or empty.
func stringOf(value any) string {
	text, _ := value.(string)
	return text
}
