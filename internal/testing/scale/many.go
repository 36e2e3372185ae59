package scale

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

// manyGroup is the name of all phases with many coupons.
const manyGroup = "coupons"

// manyPhases are the phases of many small coupons, on a fleet. They come after those of the one large sale.
var manyPhases = []phase{
	{name: "many-publication", first: true, many: true, prepare: (*sale).announceMany, play: (*sale).publishMany},
	{name: "many-sale", first: true, many: true, prepare: (*sale).needMany, play: (*sale).sellMany},
	{name: "many-idle", first: true, many: true, prepare: (*sale).needMany, play: (*sale).idleMany},
	{name: "many-restore", first: true, many: true, prepare: (*sale).needMany, play: (*sale).restoreMany},
	{name: "many-failover", first: true, many: true, prepare: (*sale).needMany, play: (*sale).failOverMany},
	{name: "many-reconcile", first: true, many: true, prepare: (*sale).leaveManyHolds, play: (*sale).reconcileMany},
	{name: "many-queue", first: true, many: true, prepare: (*sale).needMany, play: (*sale).queueOneOfMany},
	{name: "many-audit", first: true, many: true, prepare: (*sale).needMany, play: (*sale).auditMany},
}

const (
	fleetSize    = 4  // instances, the one of the large sale included
	callsAtOnce  = 8  // of the administrator
	buyersAtOnce = 32 // of all coupons
	manyBuyers   = 3  // of each coupon
	manyUnits    = 100_000
)

// many are the small coupons and the fleet that sells them.
type many struct {
	ids       []string
	urls      []string // of the instances
	published bool
	buyer     atomic.Int64 // the last one
}

// atOnce does work for each of n, some at once, until one fails.
func atOnce(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}

// coupons is how many small coupons this sale has: half of them in a sale with half of the buyers.
func (s *sale) coupons() int { return max(1, int(int64(s.Coupons)*s.buyers/s.Buyers)) }

// announceMany makes the coupons, and starts the other instances of the fleet.
func (s *sale) announceMany(ctx context.Context) (string, error) {
	if s.many.ids != nil {
		return "", nil
	}
	s.many.buyer.Store(1 << 41)
	s.many.ids = make([]string, s.coupons())
	err := atOnce(ctx, len(s.many.ids), callsAtOnce, func(ctx context.Context, i int) (err error) {
		s.many.ids[i], err = s.announce(ctx, manyUnits)
		return err
	})
	if err != nil {
		return "", err
	}
	s.many.urls = []string{s.program.URL}
	for range fleetSize - 1 {
		if _, err := s.another(ctx); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d drafts and %d more instances", len(s.many.ids), fleetSize-1), nil
}

// another starts one more instance.
func (s *sale) another(ctx context.Context, settings ...string) (*servers.Program, error) {
	all := append(append([]string{}, s.settings...), settings...)
	p, err := servers.Serve(ctx, servers.Command(context.WithoutCancel(ctx), s.dir, s.Program, all, "serve"))
	if err != nil {
		return nil, err
	}
	s.OnClose(p.Stop)
	if len(settings) == 0 {
		s.many.urls = append(s.many.urls, p.URL)
	}
	return p, nil
}

// needMany has the coupons on sale.
func (s *sale) needMany(ctx context.Context) (string, error) {
	if s.many.published {
		return "", nil
	}
	if _, err := s.announceMany(ctx); err != nil {
		return "", err
	}
	var r Row
	return fmt.Sprintf("%d coupons on sale", s.coupons()), s.publishMany(ctx, &r)
}

// publishMany puts all coupons on sale.
func (s *sale) publishMany(ctx context.Context, r *Row) error {
	r.Items, s.many.published = int64(len(s.many.ids)), true
	return timed(&r.Took, func() error {
		return atOnce(ctx, len(s.many.ids), callsAtOnce, func(ctx context.Context, i int) error {
			return s.load(ctx, s.many.ids[i])
		})
	})
}

// sellMany sells some units of every coupon, through all instances.
func (s *sale) sellMany(ctx context.Context, r *Row) error {
	r.Items = int64(len(s.many.ids) * manyBuyers)
	return timed(&r.Took, func() error {
		return s.buyMany(ctx, r, int(r.Items), s.many.urls, func(i int) string { return s.many.ids[i%len(s.many.ids)] }, http.StatusCreated)
	})
}

// buyMany sends buyers, each of whom must get an answer with that status.
func (s *sale) buyMany(ctx context.Context, r *Row, buyers int, urls []string, of func(i int) string, want int) error {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: buyersAtOnce}}
	defer client.CloseIdleConnections()
	token := rush.Signed(s.secret)
	var refused atomic.Int64
	err := atOnce(ctx, buyers, buyersAtOnce, func(ctx context.Context, i int) error {
		signed, err := token(ctx, s.many.buyer.Add(1))
		if err != nil {
			return err
		}
		url := urls[i%len(urls)] + "/api/v1/coupons/" + of(i) + "/orders"
		if status, _, err := servers.Ask(ctx, client, http.MethodPost, url, signed, ""); err != nil || status != want {
			refused.Add(1)
		}
		return nil
	})
	if n := refused.Load(); n > 0 {
		r.note("%d of %d buyers were refused", n, buyers)
	}
	return err
}

// idleFor is how long the idle fleet is watched, and is at least ten checks of the stock.
const idleFor = 10 * time.Second

// idleMany is a fleet without buyers, but for those of the other coupon. It took as long as Redis was busy.
func (s *sale) idleMany(ctx context.Context, r *Row) error {
	r.Items = int64(len(s.many.ids))
	before, err := servers.CPU(s.Redis.PID())
	if err != nil {
		return err
	}
	if err := s.calmFor(ctx, min(idleFor, 2*s.Calm)); err != nil {
		return err
	}
	after, err := servers.CPU(s.Redis.PID())
	r.Took = after - before
	r.note("what %d idle instances took of Redis in %s: %.1f %% of a core, with the orders of the other coupon",
		fleetSize, min(idleFor, 2*s.Calm), 100*over(r.Took, min(idleFor, 2*s.Calm)))
	return err
}

// loadedAgain reports whether all coupons are loaded in an epoch after this one.
func (s *sale) loadedAgain(epoch int64) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		var left int
		err := s.raw.QueryRowContext(ctx, "SELECT COUNT(*) FROM coupons WHERE state = 'on_sale' AND total = ? AND (loading <> 0 OR epoch <= ?)",
			manyUnits, epoch).Scan(&left)
		if err != nil {
			return false, fmt.Errorf("count the coupons that are not loaded: %w", err)
		}
		return left == 0, nil
	}
}

// newestEpoch returns the largest epoch of all coupons.
func (s *sale) newestEpoch(ctx context.Context) (epoch int64, err error) {
	if err = s.raw.QueryRowContext(ctx, "SELECT MAX(epoch) FROM coupons").Scan(&epoch); err != nil {
		return 0, fmt.Errorf("read the newest epoch: %w", err)
	}
	return epoch, nil
}

// restoreMany empties Redis and waits until the fleet has loaded all coupons again.
func (s *sale) restoreMany(ctx context.Context, r *Row) error {
	r.Items = int64(len(s.many.ids))
	epoch, err := s.newestEpoch(ctx)
	if err != nil {
		return err
	}
	if err := s.client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("empty Redis: %w", err)
	}
	return s.awaitTimed(ctx, r, s.loadedAgain(epoch))
}

// failOverMany sets the mark of the database back, as a replica without the last writes would have it.
func (s *sale) failOverMany(ctx context.Context, r *Row) error {
	r.Items = int64(len(s.many.ids))
	epoch, err := s.newestEpoch(ctx)
	if err != nil {
		return err
	}
	if err := s.exec(ctx, "UPDATE deployment SET mark = 1"); err != nil {
		return fmt.Errorf("set the mark back: %w", err)
	}
	return s.awaitTimed(ctx, r, s.loadedAgain(epoch))
}

// manyKey is a key of a shard of one of the coupons.
func manyKey(id string, shard int, name string) string {
	return stock.DefaultPrefix + "{" + id + ":" + strconv.Itoa(shard) + "}:" + name
}

// leaveManyHolds leaves an old hold of each coupon open, as by instances that died. None of them was committed.
func (s *sale) leaveManyHolds(ctx context.Context) (string, error) {
	filled, err := s.needMany(ctx)
	if err != nil {
		return "", err
	}
	since := time.Now().Add(-time.Minute).UnixMilli()
	for i, id := range s.many.ids {
		user := s.many.buyer.Add(1)
		order, who := strconv.FormatInt(1<<50+user, 10), strconv.FormatInt(user, 10)
		tag := manyKey(id, coupon.Home(user, shards), "")
		_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Decr(ctx, tag+"stock")
			p.HSet(ctx, tag+"holds", order, fmt.Sprintf("own left:%s %s %d ,%s,", who, who, since, order))
			p.ZAdd(ctx, tag+"ages", redis.Z{Score: float64(since), Member: order})
			p.HSet(ctx, tag+"requests", "left:"+who, order)
			p.HIncrBy(ctx, tag+"open", who, 1)
			p.HIncrBy(ctx, tag+"meta", "ops", 1)
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("leave a hold of coupon %d open: %w", i, err)
		}
	}
	return filled + fmt.Sprintf("; %d holds", len(s.many.ids)), nil
}

// reconcileMany waits until no coupon has an open hold.
func (s *sale) reconcileMany(ctx context.Context, r *Row) error {
	r.Items = int64(len(s.many.ids))
	return s.awaitTimed(ctx, r, func(ctx context.Context) (bool, error) {
		var counts []*redis.IntCmd
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, id := range s.many.ids {
				for shard := range shards {
					counts = append(counts, p.ZCard(ctx, manyKey(id, shard, "ages")))
				}
			}
			return nil
		})
		if err != nil {
			return false, fmt.Errorf("count the holds: %w", err)
		}
		for _, n := range counts {
			if n.Val() > 1 { // its mark
				return false, nil
			}
		}
		return true, nil
	})
}

// queueOneOfMany sells one coupon through an instance in mode queue, and waits until all orders are committed.
func (s *sale) queueOneOfMany(ctx context.Context, r *Row) error {
	r.Items = int64(len(s.many.ids))
	p, err := s.another(ctx, "SECKILL_ORDER__MODE=queue")
	if err != nil {
		return err
	}
	buyers := 2 * s.Coupons
	hot := s.many.ids[0]
	var before, after int64
	count := func(into *int64) error {
		return s.raw.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders WHERE coupon_id = ? AND status = 'pending'", hot).Scan(into)
	}
	if err := count(&before); err != nil {
		return fmt.Errorf("count orders: %w", err)
	}
	err = timed(&r.Took, func() error {
		if err := s.buyMany(ctx, r, buyers, []string{p.URL}, func(int) string { return hot }, http.StatusAccepted); err != nil {
			return err
		}
		return s.await(ctx, func(ctx context.Context) (bool, error) {
			waiting := int64(0)
			for shard := range shards {
				n, err := s.client.XLen(ctx, manyKey(hot, shard, "queue")).Result()
				if err != nil {
					return false, fmt.Errorf("read the length of a queue: %w", err)
				}
				waiting += n
			}
			return waiting == 0, nil
		})
	})
	if err != nil {
		return err
	}
	if err := count(&after); err != nil {
		return fmt.Errorf("count orders: %w", err)
	}
	r.note("%d of %d queued orders of one coupon were committed, %.0f a second", after-before, buyers, float64(after-before)/r.Took.Seconds())
	return errors.Join(p.Stop())
}

// auditMany runs `seckill audit` over all coupons.
func (s *sale) auditMany(ctx context.Context, r *Row) error {
	r.Items = int64(len(s.many.ids))
	var out string
	err := timed(&r.Took, func() (err error) {
		out, err = s.run(ctx, r, "audit")
		return err
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.Violated = append(r.Violated, fmt.Sprintf("the audit is not clean: %v: %.2000s", err, out))
	}
	return nil
}
