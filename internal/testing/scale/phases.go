package scale

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/seckill/internal/stock"
)

// phase is a part of a sale's life.
type phase struct {
	name    string
	first   bool // there is no sale before it
	audited bool // the sale is audited after it
	loads   bool // it loads Redis, and is compared with the reference
	many    bool // it has many small coupons
	// prepare writes the data that the phase needs, without playing them, and returns a description. It is not
	// measured.
	prepare func(*sale, context.Context) (string, error)
	// play runs the phase, and records how long it took and for how many items.
	play func(*sale, context.Context, *Row) error
}

// calmPhase is the phase in which only the other coupon sells.
const calmPhase = "calm"

// phases lists the phases in the order of a sale.
var phases = append([]phase{
	{name: calmPhase, first: true, play: (*sale).calm},
	{name: "sale", first: true, play: (*sale).sell},
	{name: "audit", play: (*sale).auditAgain},
	{name: "migration", audited: true, prepare: (*sale).next, play: (*sale).migrate},
	{name: "publication", audited: true, loads: true, play: (*sale).publishMore},
	{name: "restore", audited: true, loads: true, play: (*sale).restore},
	{name: "settling", audited: true, prepare: (*sale).leaveHolds, play: (*sale).settle},
	{name: "expiry", audited: true, prepare: (*sale).overdue, play: (*sale).expire},
	{name: "end", play: (*sale).end},
	{name: "archive", audited: true, prepare: (*sale).growOld, play: (*sale).archive},
	{name: "draw", first: true, prepare: (*sale).giveTickets, play: (*sale).draw},
	{name: referencePhase, first: true, play: (*sale).writeReference},
}, manyPhases...)

// Names returns the names of the phases.
func Names() (all []string) {
	for _, p := range phases {
		all = append(all, p.name)
	}
	return all
}

// calm lets only the other coupon sell.
func (s *sale) calm(ctx context.Context, _ *Row) error { return s.calmFor(ctx, s.Calm) }

func (s *sale) calmFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sell sells to every buyer, over HTTP.
func (s *sale) sell(ctx context.Context, r *Row) (err error) {
	s.sold = true
	if s.coupon, err = s.publish(ctx, s.units()); err != nil {
		return err
	}
	s.watched.Store(new(s.coupon))
	return s.rush(ctx, r)
}

// audits is the number of audits in the phase. One audit takes seconds, and other work of the machine and the
// database may be a fifth of this time.
const audits = 3

// auditAgain audits the coupon several times, one after the other.
func (s *sale) auditAgain(ctx context.Context, r *Row) error {
	var took time.Duration
	for range audits {
		if err := s.audit(ctx, r); err != nil {
			return err
		}
		took += r.Took
	}
	r.Items, r.Took = audits*s.buyers, took
	r.note("%d audits, one after the other", audits)
	return nil
}

// audit runs `seckill audit` over the coupon.
func (s *sale) audit(ctx context.Context, r *Row) error {
	r.Items = s.buyers
	var out string
	err := timed(&r.Took, func() (err error) {
		out, err = s.run(ctx, r, "audit", "--coupon", s.coupon)
		return err
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || !strings.Contains(out, "audit: clean\n") {
		r.Violated = append(r.Violated, fmt.Sprintf("the audit is not clean: %v: %s", err, out))
	}
	return nil
}

// publishMore stops the sale, raises the stock and publishes it again.
func (s *sale) publishMore(ctx context.Context, r *Row) error {
	r.Items = s.buyers
	publication := "/" + s.coupon + "/publication"
	return timed(&r.Took, func() error {
		if err := s.call(ctx, http.MethodDelete, publication, nil, nil); err != nil {
			return err
		}
		if err := s.call(ctx, http.MethodPatch, "/"+s.coupon, map[string]any{"stock": s.units() + s.buyers/10}, nil); err != nil {
			return err
		}
		return s.load(ctx, s.coupon)
	})
}

// restore empties Redis and waits until the program has noticed and loaded the coupon.
func (s *sale) restore(ctx context.Context, r *Row) error {
	r.Items = s.buyers
	before, err := s.row(ctx, s.coupon)
	if err != nil {
		return err
	}
	// Do not use ASYNC: Redis would free the old data during the loading, whose calls are measured.
	if err := s.client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("empty Redis: %w", err)
	}
	return s.awaitTimed(ctx, r, func(ctx context.Context) (bool, error) {
		is, err := s.row(ctx, s.coupon)
		return is.epoch > before.epoch && !is.loading, err
	})
}

// settle waits until no hold is open.
func (s *sale) settle(ctx context.Context, r *Row) error {
	r.Items = s.openHolds()
	return s.awaitTimed(ctx, r, func(ctx context.Context) (bool, error) {
		open := int64(0)
		for shard := range shards {
			n, err := s.client.ZCard(ctx, s.key(shard, "ages")).Result()
			if err != nil {
				return false, fmt.Errorf("count the holds: %w", err)
			}
			open += n - 1 // minus the mark in the set
		}
		return open == 0, nil
	})
}

// expire waits until the overdue orders have expired and the shards have got their units back.
func (s *sale) expire(ctx context.Context, r *Row) error {
	r.Items = s.buyers / 2
	return s.awaitTimed(ctx, r, func(ctx context.Context) (left bool, err error) {
		err = s.raw.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM orders FORCE INDEX (orders_due)
			WHERE status = 'pending' AND expires_at <= UTC_TIMESTAMP(3))
			OR EXISTS (SELECT 1 FROM stock_returns WHERE coupon_id = ?)`, s.coupon).Scan(&left)
		if err != nil {
			return false, fmt.Errorf("look for overdue orders: %w", err)
		}
		return !left, nil
	})
}

// end moves the end of the sale a day into the past and waits until its shards are freed. The time starts when
// the first shard is gone, because the start time of the job does not depend on the sale.
func (s *sale) end(ctx context.Context, r *Row) error {
	r.Items = s.buyers
	keys := make([]string, shards)
	for shard := range keys {
		keys[shard] = s.key(shard, "meta")
	}
	had, err := s.memoryOfRedis(ctx)
	if err != nil {
		return err
	}
	if err := s.endNow(ctx); err != nil {
		return err
	}
	if err := s.endLongAgo(ctx, "25 HOUR"); err != nil {
		return err
	}
	err = s.await(ctx, func(ctx context.Context) (bool, error) {
		there, err := s.client.Exists(ctx, keys...).Result()
		return there < shards, err //nolint:wrapcheck // below
	})
	if err != nil {
		return fmt.Errorf("wait for the job: %w", err)
	}
	err = s.awaitTimed(ctx, r, func(ctx context.Context) (bool, error) {
		is, err := s.row(ctx, s.coupon)
		if err != nil || is.shards > 0 {
			return false, err
		}
		info, err := s.client.InfoMap(ctx, "memory").Result()
		return info["Memory"]["lazyfree_pending_objects"] == "0", err //nolint:wrapcheck // below
	})
	if err != nil {
		return fmt.Errorf("wait until all is freed: %w", err)
	}
	has, err := s.memoryOfRedis(ctx)
	r.note("Redis kept %d MiB before and %d after", had>>20, has>>20)
	r.Filled = "the end is 25 hours ago"
	return err
}

// endNow ends the sale, unless it has ended.
func (s *sale) endNow(ctx context.Context) error {
	if s.ended {
		return nil
	}
	s.ended = true
	return s.call(ctx, http.MethodPatch, "/"+s.coupon, map[string]any{"state": "ended"}, nil)
}

// archive runs `seckill archive` once the shards are freed.
func (s *sale) archive(ctx context.Context, r *Row) error {
	err := s.await(ctx, func(ctx context.Context) (bool, error) {
		is, err := s.row(ctx, s.coupon)
		return is.shards == 0, err
	})
	if err != nil {
		return err
	}
	err = timed(&r.Took, func() error {
		_, err := s.run(ctx, r, "archive", "--older-than", "48h")
		return err
	})
	if err != nil {
		return err
	}
	var left int64
	const count = "SELECT (SELECT COUNT(*) FROM orders_archive WHERE coupon_id = ?), (SELECT COUNT(*) FROM orders WHERE coupon_id = ?)"
	if err := s.raw.QueryRowContext(ctx, count, s.coupon, s.coupon).Scan(&r.Items, &left); err != nil {
		return fmt.Errorf("count the archive: %w", err)
	}
	if left > 0 {
		r.Violated = append(r.Violated, fmt.Sprintf("%d orders were not archived", left))
	}
	return nil
}

// key returns a key of a shard of the coupon.
func (s *sale) key(shard int, name string) string {
	return stock.DefaultPrefix + "{" + s.coupon + ":" + strconv.Itoa(shard) + "}:" + name
}

func (s *sale) memoryOfRedis(ctx context.Context) (int64, error) {
	info, err := s.client.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, fmt.Errorf("read the memory of Redis: %w", err)
	}
	return strconv.ParseInt(info["Memory"]["used_memory"], 10, 64) //nolint:wrapcheck // it says what it could not read
}

func timed(took *time.Duration, do func() error) error {
	began := time.Now()
	err := do()
	*took = time.Since(began)
	return err
}

// awaitTimed waits as await does, and records the time as the duration of the phase.
func (s *sale) awaitTimed(ctx context.Context, r *Row, is func(context.Context) (bool, error)) error {
	return timed(&r.Took, func() error { return s.await(ctx, is) })
}
