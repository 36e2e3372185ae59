package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// maxMembers is the maximum number of members in one run of a script. With this limit a run does not block other
// clients of the server for more than 5 ms. The most expensive script is reserve.lua. One member of it takes 15 to 27
// microseconds of CPU time on a busy machine.
const maxMembers = 100

// Reserve implements order.Shards. A request that goes by itself may borrow. For the others:
//
//	requests ─▶ by home shard ─▶ a script each, all in one pipeline ─▶ held
//	                                                                ─▶ refused
//	                                                                ─▶ empty ─▶ read all counters ─▶ sold out
//	                                                                                              ─▶ individually
func (s *Stock) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	all := make([]order.Reservation, len(requests))
	var b batch
	for i, c := range requests {
		s.noteAsked(c.CouponID)
		switch {
		case c.Alone:
			all[i].Hold, all[i].Err = s.reserveOne(ctx, c)
		case c.Context != nil && c.Context.Err() != nil:
			all[i].Err = fmt.Errorf("%w: %w", order.ErrUnavailable, c.Context.Err())
		default:
			on := run{couponID: c.CouponID, shard: coupon.Home(c.UserID, c.Shards), epoch: c.Epoch, rules: rulesOf(c, refuseIfEmpty)}
			b.add(i, on, requestArgs(c)...)
		}
	}
	if len(b) == 0 {
		return all
	}
	asked := s.limited.question()
	s.runMany(ctx, reserveScript, b, func(i, shard int, answer []string, err error) {
		if err == nil {
			all[i].Hold, err = unmarked(reserved(requests[i], shard, answer))
		}
		s.limited.add(requests[i], err, asked)
		all[i].Err = err
	})
	s.endEmpty(ctx, requests, all)
	return all
}

// endEmpty sets the result of each request whose home shard is empty. If every shard is empty, the result is
// coupon.ErrSoldOut. If a sibling may lend a unit, the result is order.ErrFallback, and the caller repeats the request
// by itself.
func (s *Stock) endEmpty(ctx context.Context, requests []order.ReserveRequest, all []order.Reservation) {
	type load struct {
		couponID, epoch int64
		shards          int
	}
	outcome := map[load]error{}
	for i, c := range requests {
		if c.Alone || !errors.Is(all[i].Err, errEmpty) {
			continue
		}
		of := load{c.CouponID, c.Epoch, c.Shards}
		err, known := outcome[of]
		if !known {
			if _, err = s.lenders(ctx, c); !errors.Is(err, coupon.ErrSoldOut) {
				err = order.ErrFallback
			}
			outcome[of] = err
		}
		all[i].Err = err
	}
}

// Confirm implements order.Shards. For one hold it repeats the script and follows a moving Cluster slot.
func (s *Stock) Confirm(ctx context.Context, holds []order.Hold) []error {
	if len(holds) == 1 {
		return []error{s.confirmOne(ctx, holds[0])}
	}
	var b batch
	for i, h := range holds {
		b.addHold(i, h, h.OrderID)
	}
	all := make([]error, len(holds))
	s.runMany(ctx, confirmScript, b, func(i, _ int, _ []string, err error) { all[i] = errors.Join(all[i], err) })
	return all
}

// Release implements order.Shards. For one hold it repeats the script and follows a moving Cluster slot.
func (s *Stock) Release(ctx context.Context, holds []order.Hold) []error {
	if len(holds) == 1 {
		return []error{s.releaseOne(ctx, holds[0])}
	}
	var b batch
	for i, h := range holds {
		b.addHold(i, h, h.OrderID, h.Attempt)
	}
	all := make([]error, len(holds))
	s.runMany(ctx, releaseScript, b, func(i, _ int, answer []string, err error) {
		if err == nil {
			err = s.clearSoldOut(ctx, holds[i].CouponID, answer)
		}
		all[i] = errors.Join(all[i], err)
	})
	return all
}

// run is the shard, the epoch and the rules of one run of a script.
type run struct {
	couponID int64
	shard    int
	epoch    int64
	rules
}

// runOf is one run of a script with its members, in the order of their answers.
type runOf struct {
	run
	members []int
	args    []any
	answers []string
	err     error
}

// batch is the list of runs of one call for many members.
type batch []*runOf

// add puts a member into the run of its shard. If that run is full, add puts the member into another run.
func (b *batch) add(member int, on run, args ...any) {
	at := slices.IndexFunc(*b, func(r *runOf) bool { return r.run == on && len(r.members) < maxMembers })
	if at < 0 {
		at = len(*b)
		*b = append(*b, &runOf{run: on, args: append([]any{on.epoch}, on.common()...)})
	}
	r := (*b)[at]
	r.members, r.args = append(r.members, member), append(r.args, args...)
}

// addHold adds a member to the shard that its unit came from and to its home shard.
func (b *batch) addHold(member int, h order.Hold, args ...any) {
	_ = onShards(h, func(shard int) error {
		b.add(member, run{couponID: h.CouponID, shard: shard, epoch: h.Epoch}, args...)
		return nil
	})
}

// runMany executes all runs of a script in one pipeline. It repeats the runs without an answer once, because every
// script is idempotent. It calls answered for each run and each member of the run. The error is
// order.ErrUnavailable if a run has no answer. The error is order.ErrFallback if the server rejects the script, for
// example during the migration of a Cluster slot.
func (s *Stock) runMany(ctx context.Context, sc script, b batch, answered func(member, shard int, answer []string, err error)) {
	s.send(ctx, b, sc.keys, sc.EvalSha)
	if lost := slices.DeleteFunc(slices.Clone(b), func(r *runOf) bool { return !r.unanswered() }); len(lost) > 0 && ctx.Err() == nil {
		s.send(ctx, lost, sc.keys, sc.Eval) // works even if the server has lost the script
	}
	for _, r := range b {
		if r.err != nil {
			s.cutShort(ctx, r.couponID, r.epoch, r.err)
		}
		for i, member := range r.members {
			if r.err != nil {
				answered(member, r.shard, nil, r.failure())
			} else {
				answered(member, r.shard, strings.Fields(r.answers[i]), nil)
			}
		}
	}
}

// send executes the runs in one pipeline.
func (s *Stock) send(
	ctx context.Context, b batch, keys int,
	eval func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd,
) {
	cmds := make([]*redis.Cmd, len(b))
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, r := range b {
			cmds[i] = eval(ctx, p, s.keys(r.couponID, r.shard, keys), r.args...)
		}
		return nil
	})
	for i, r := range b {
		if r.answers, r.err = cmds[i].StringSlice(); r.err == nil && len(r.answers) != len(r.members) {
			r.err = fmt.Errorf("%d answers for %d members", len(r.answers), len(r.members))
		}
	}
}

// unanswered reports whether the outcome of the run is unknown, or the server does not know the script.
func (r *runOf) unanswered() bool {
	return r.err != nil && (!isRefused(r.err) || redis.HasErrorPrefix(r.err, "NOSCRIPT"))
}

func (r *runOf) failure() error {
	err := order.ErrUnavailable
	if isRefused(r.err) {
		err = order.ErrFallback
	}
	return fmt.Errorf("%w: shard %d of coupon %d: %w", err, r.shard, r.couponID, r.err)
}

// isRefused reports whether err is an error that a server returned.
func isRefused(err error) bool {
	_, said := errors.AsType[redis.Error](err)
	return said
}
