package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// consumerGroup is the consumer group of every queue; reserve.lua and lend.lua make it.
const consumerGroup = "orders"

// maxDeadLetters is about how many dead letters a shard keeps.
const maxDeadLetters = 1000

// Queue reads the queues of the shards, one stream each, for one consumer:
//
//	reserve.lua, lend.lua ─▶ XADD ─▶ stream ─▶ Next ─▶ pending ─▶ Ack: XACK, XDEL
//	  with the hold                    a consumer died │ ▲        └▶ DeadLetter: dead letters
//	                                                   └─┘ ClaimAbandoned: XCLAIM
//
// An entry lives as long as its epoch: loading the shards anew, or the loss of Redis' data, ends
// the queue. The queue does not promise an order of service between shards, nor that an entry is
// delivered to one consumer only.
type Queue struct {
	stock     *Stock
	consumer  string
	idle      time.Duration
	nextShard atomic.Uint64 // which shard is read first
}

// Queue returns the queues for a consumer with that name, which must be unique. An entry that
// another consumer has not acknowledged within idle of its last delivery is abandoned.
func (s *Stock) Queue(consumer string, idle time.Duration) *Queue {
	return &Queue{stock: s, consumer: consumer, idle: idle}
}

// waitsUntilEnd stands in place of the status in an entry that may wait until its sale ends. A program that does not
// know the word reads such an entry like any other, because an entry needs no status.
const waitsUntilEnd order.Status = "until_end"

// encodeEntry returns the entry of a request, or "" if nothing is queued: the epoch, the number of
// shards, the order, and the traceparent if there is one.
func encodeEntry(c order.ReserveRequest) string {
	if c.Enqueue == nil {
		return ""
	}
	o := *c.Enqueue
	if c.QueueUntilEnd > 0 {
		o.Status = waitsUntilEnd
	}
	entry := strconv.FormatInt(c.Epoch, 10) + " " + strconv.Itoa(c.Shards) + " " + encodeOrder(o)
	if c.Trace != "" {
		entry += " " + c.Trace
	}
	return entry
}

// shardsOf returns which shards Next reads, and how many entries of each, most at most in all; the first
// shard changes with each call.
func (q *Queue) shardsOf(c coupon.Coupon, most int) (shards []int, each int64) {
	first := int(q.nextShard.Add(1) % uint64(max(1, c.Shards))) //nolint:gosec // below shards
	for i := range min(most, c.Shards) {
		shards = append(shards, (first+i)%c.Shards)
	}
	return shards, int64(max(1, most/max(1, c.Shards)))
}

// Next implements order.Queue.
func (q *Queue) Next(ctx context.Context, c coupon.Coupon, most int) ([]order.Entry, error) {
	shards, each := q.shardsOf(c, most)
	reads := make([]*redis.XStreamSliceCmd, len(shards))
	_, _ = q.stock.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, shard := range shards {
			reads[i] = p.XReadGroup(ctx, &redis.XReadGroupArgs{
				Group: consumerGroup, Consumer: q.consumer, Streams: []string{q.stock.tag(c.ID, shard) + "queue", ">"}, Count: each, Block: -1,
			})
		}
		return nil
	})
	var all []order.Entry
	var failed error
	for i, read := range reads {
		streams, err := read.Result()
		if err != nil && !empty(err) {
			failed = fmt.Errorf("%w: queue of shard %d of coupon %d: %w", order.ErrUnavailable, shards[i], c.ID, err)
		}
		for _, stream := range streams {
			for _, m := range stream.Messages {
				all = append(all, q.entry(ctx, c, shards[i], m, 1))
			}
		}
	}
	return all, failed
}

// empty reports whether there is nothing to read: no new entry, or no queue yet.
func empty(err error) bool {
	return errors.Is(err, redis.Nil) || strings.HasPrefix(err.Error(), "NOGROUP")
}

// Waiting implements order.Queue.
func (q *Queue) Waiting(ctx context.Context, all []coupon.Coupon) (waiting []coupon.Coupon, failed error) {
	has := make([]bool, len(all))
	for trip := range slices.Chunk(shardsOf(all), countersPerTrip) {
		lengths := make([]*redis.IntCmd, len(trip))
		_, _ = q.stock.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for n, at := range trip {
				lengths[n] = p.XLen(ctx, q.stock.tag(all[at.coupon].ID, at.shard)+"queue")
			}
			return nil
		})
		for n, at := range trip {
			entries, err := lengths[n].Result()
			if err != nil {
				failed = fmt.Errorf("%w: queue of shard %d of coupon %d: %w", order.ErrUnavailable, at.shard, all[at.coupon].ID, err)
			}
			has[at.coupon] = has[at.coupon] || entries > 0
		}
	}
	for i, c := range all {
		if has[i] {
			waiting = append(waiting, c)
		}
	}
	return waiting, failed
}

// ClaimAbandoned implements order.Queue. It lists entries that have been pending for too long and takes them over
// with XCLAIM, in two round trips. One consumer takes over each, because that restarts its time.
func (q *Queue) ClaimAbandoned(ctx context.Context, c coupon.Coupon, most int) (all []order.Entry, failed error) {
	shards, _ := q.shardsOf(c, c.Shards)
	fail := func(shard int, err error) {
		if err != nil && !empty(err) {
			failed = fmt.Errorf("%w: pending in the queue of shard %d of coupon %d: %w", order.ErrUnavailable, shard, c.ID, err)
		}
	}
	lists, claims := make([]*redis.XPendingExtCmd, len(shards)), make([]*redis.XMessageSliceCmd, len(shards))
	_, _ = q.stock.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, shard := range shards {
			lists[i] = p.XPendingExt(ctx, &redis.XPendingExtArgs{
				Stream: q.stock.tag(c.ID, shard) + "queue", Group: consumerGroup, Idle: q.idle, Start: "-", End: "+", Count: int64(most),
			})
		}
		return nil
	})
	deliveries, ids, found := map[string]int{}, make([][]string, len(shards)), 0
	for i, list := range lists {
		fail(shards[i], list.Err())
		some := list.Val()
		some = some[:min(len(some), most-found)]
		found += len(some)
		for _, pending := range some {
			ids[i] = append(ids[i], pending.ID)
			deliveries[strconv.Itoa(i)+" "+pending.ID] = int(pending.RetryCount) + 1
		}
	}
	if found == 0 {
		return nil, failed
	}
	_, _ = q.stock.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, shard := range shards {
			if len(ids[i]) > 0 {
				claims[i] = p.XClaim(ctx, &redis.XClaimArgs{
					Stream: q.stock.tag(c.ID, shard) + "queue", Group: consumerGroup, Consumer: q.consumer, MinIdle: q.idle, Messages: ids[i],
				})
			}
		}
		return nil
	})
	for i, claim := range claims {
		if claim == nil {
			continue
		}
		fail(shards[i], claim.Err())
		for _, m := range claim.Val() {
			all = append(all, q.entry(ctx, c, shards[i], m, deliveries[strconv.Itoa(i)+" "+m.ID]))
		}
	}
	return all, failed
}

// entry parses a message. For one that cannot be parsed, it looks up the hold in the shard.
func (q *Queue) entry(ctx context.Context, c coupon.Coupon, shard int, m redis.XMessage, deliveries int) order.Entry {
	e, err := parseEntry(m, c.ID, shard)
	e.ID, e.Deliveries, e.Broken = m.ID, deliveries, err
	if err != nil {
		e.Order = order.Order{}
		e.Hold = q.holdOf(ctx, c, shard, m)
	}
	return e
}

func parseEntry(m redis.XMessage, couponID int64, shard int) (order.Entry, error) {
	var p parser
	id, attempt := p.number(messageField(m, "order")), p.number(messageField(m, "attempt"))
	epoch, rest, _ := strings.Cut(messageField(m, "entry"), " ")
	count, rest, _ := strings.Cut(rest, " ")
	o, err := parseOrder(rest)
	if err != nil {
		return order.Entry{}, fmt.Errorf("entry %s: %w", m.ID, err)
	}
	var trace string
	o.RequestID, trace, _ = strings.Cut(o.RequestID, " ") // it is the last word of an order
	of, shards := p.number(epoch), int(p.number(count))
	switch {
	case p.err != nil:
		return order.Entry{}, fmt.Errorf("entry %s: %w", m.ID, p.err)
	case id == 0 || attempt == 0 || o.CouponID != couponID || o.UserID == 0 || o.RequestID == "" || of == 0 || shards <= shard:
		return order.Entry{}, fmt.Errorf("entry %s lacks a part, or is not of this shard", m.ID)
	}
	untilEnd := o.Status == waitsUntilEnd
	o.ID, o.Shard, o.Status, o.Position = id, shard, order.Pending, order.QueuePosition{}
	return order.Entry{Order: o, Trace: trace, UntilEnd: untilEnd, Hold: order.Hold{
		CouponID: couponID, UserID: o.UserID, RequestID: o.RequestID, OrderID: id, Attempt: attempt,
		Epoch: of, Shards: shards, Shard: shard, Queued: true,
	}}, nil
}

// messageField returns a field of a message, or "".
func messageField(m redis.XMessage, field string) string {
	s, _ := m.Values[field].(string)
	return s
}

// holdOf returns the hold of an entry of which only the order's id is known, with all its shares;
// without a RequestID if there is none.
func (q *Queue) holdOf(ctx context.Context, c coupon.Coupon, shard int, m redis.XMessage) order.Hold {
	none := order.Hold{CouponID: c.ID, Epoch: c.Epoch, Shards: c.Shards, Shard: shard}
	id := messageField(m, "order")
	hold, err := q.stock.client.HGet(ctx, q.stock.tag(c.ID, shard)+"holds", id).Result()
	if err != nil {
		return none
	}
	h, err := parseHold(id, hold, 0)
	if err != nil {
		return none
	}
	h.CouponID, h.Epoch, h.Shards, h.Shard = c.ID, c.Epoch, c.Shards, shard
	return h.Hold
}

// resolvedTTL is how long the record of an unresolved order stays after the database has the order:
// a reader that asked the database a moment before asks for the record next.
const resolvedTTL = 10 * time.Second

// Ack implements order.Queue.
func (q *Queue) Ack(ctx context.Context, e order.Entry) error {
	h := e.Hold
	_, err := q.stock.run(ctx, ackScript, h.CouponID, h.Shard, h.Epoch, e.ID)
	return err
}

// ackCommittedOne acknowledges the entry of a committed order. Failing to shorten the life of the unresolved order
// is harmless, so that error is ignored.
func (q *Queue) ackCommittedOne(ctx context.Context, e order.Entry) error {
	h := e.Hold
	if err := q.Ack(ctx, e); err != nil {
		return err
	}
	_ = q.stock.scripter.Process(ctx, redis.NewBoolCmd(ctx, "expire", q.stock.unresolvedKey(h.OrderID), seconds(resolvedTTL)))
	return nil
}

// DeadLetter implements order.Queue.
func (q *Queue) DeadLetter(ctx context.Context, e order.Entry, why error) error {
	h := e.Hold
	_, err := q.stock.run(ctx, deadLetterScript, h.CouponID, h.Shard, h.Epoch, e.ID, why.Error(), maxDeadLetters)
	return err
}

// Ahead implements order.Queue. It counts the entries that were queued before the order and are not
// acknowledged; later ones that were faster make it a little less.
func (q *Queue) Ahead(ctx context.Context, o order.Order) (int64, error) {
	got := redis.NewStringCmd(ctx, "hget", q.stock.tag(o.CouponID, o.Shard)+"meta", "served")
	served := int64(0)
	err := q.stock.scripter.Process(ctx, got)
	if err == nil {
		served, err = got.Int64()
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("%w: queue of shard %d of coupon %d: %w", order.ErrUnavailable, o.Shard, o.CouponID, err)
	}
	return max(0, o.Position.Number-1-served), nil
}
