package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/app/core"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/tools/lab/harness"
)

// The workload: more purchases than units, and more taps than a user may have orders.
const (
	crowdUsers = 20
	crowdTaps  = 4
	crowdUnits = 15
)

// ordersOfCrowd names the orders, which may be fewer than the units: a request that was refused is not repeated.
var ordersOfCrowd = text("orders for 15 units (the other requests were told: busy, limit reached or sold out)",
	"成交订单（共 15 份；其余请求的答复是繁忙、已达限购或售罄）")

// sell is a whole sale on the real order path, without the lines that are off. With leasesLost,
// every lease is gone as soon as it is held, unnoticed by its holder.
func sell(leasesLost bool, off ...defence) func(run *Run) {
	return sellTo(meetBriefly, leasesLost, off)
}

// sellTwice is sell where two requests of a user are sure to meet: each waits long enough for the
// other.
func sellTwice(leasesLost bool, off ...defence) func(run *Run) {
	return sellTo(meetSurely, leasesLost, off)
}

func sellTo(meet time.Duration, leasesLost bool, off []defence) func(run *Run) {
	return func(run *Run) {
		shop := openShop(run, meet, leasesLost, off)
		run.AtMost(text("orders above their users' limit", "超出限购的订单"), 0, shop.count("SELECT COALESCE(SUM(n - 1), 0) FROM "+
			"(SELECT COUNT(*) n FROM orders WHERE coupon_id = ? AND slot IS NOT NULL GROUP BY user_id) u"))
		run.AtMost(text("units sold that there were not", "超卖的份数"), 0,
			shop.count("SELECT GREATEST(0, COUNT(*) - 15) FROM orders WHERE coupon_id = ? AND slot IS NOT NULL"))
		run.Actor("crowd", func(a *Actor) {
			a.Must(harness.Database, harness.Write, "20 users tap 4 times for 15 units", func(s *Step) error {
				sold, err := shop.rush(s.Ctx)
				s.Note("%d orders", sold)
				return err
			})
		})
		run.Schedule()
		run.Report(ordersOfCrowd, shop.count("SELECT COUNT(*) FROM orders WHERE coupon_id = ? AND slot IS NOT NULL")())
	}
}

// application is the order path on a database and a Redis of its own.
type application struct {
	b        *Run
	coupon   coupon.Coupon
	services []*order.Service // one for each process
	count    func(query string) func() int64
}

func openShop(run *Run, meet time.Duration, leasesLost bool, off []defence) *application {
	at := run.Env()
	db, err := store.Open(run.Ctx(), store.Options{MySQL: at.DSN, MaxOpen: 32, MaxIdle: 32, TxTimeout: longWait})
	run.Must(err)
	run.OnStop(func() { _ = db.Close() })
	_, err = db.Migrate(run.Ctx())
	run.Must(err)

	client := run.Client(at.Redis)
	prefix := "lab-" + strconv.FormatUint(rand.Uint64(), 36) + ":" //nolint:gosec // of this database alone, and no secret
	numbers := &ids{}
	numbers.last.Store(rand.Int64N(1<<40) << 16) //nolint:gosec // a name, not a secret
	path := core.New(core.Options{
		DB: db, Redis: client, Prefix: prefix, Log: quiet,
		Exclusive: func(ctx context.Context, _ int64, work func(context.Context) error) error { return work(ctx) },
		Loading:   func(s coupon.Shards) coupon.Shards { return loader{s, slices.Contains(off, counter)} },
		Shards:    4, RefusalTTL: time.Hour, CacheRefresh: time.Hour,
	})
	now := time.Now()
	draft, err := path.Coupons.Create(run.Ctx(), coupon.Coupon{
		Title: "lab", Total: crowdUnits, LimitPerUser: 1, BeginsAt: now.Add(-time.Hour), EndsAt: now.Add(time.Hour),
	})
	run.Must(err)
	s := &application{b: run}
	s.coupon, err = path.Coupons.Publish(run.Ctx(), draft.ID)
	run.Must(err)

	pool := run.Pool(at.DSN, 2)
	s.count = func(query string) func() int64 {
		return func() (n int64) {
			run.Must(pool.QueryRowContext(run.Ctx(), query, s.coupon.ID).Scan(&n))
			return n
		}
	}
	committer := &transactor{Database: db, off: off, within: meet, met: map[int64]chan struct{}{}}
	for range crowdTaps {
		s.services = append(s.services, order.NewService(path.OrderDeps(order.Deps{
			Shards: shards{path.Stock, slices.Contains(off, account)}, Locker: lockerWithout(run, off, leasesLost, client),
			Committer: committer, IDs: numbers, PaymentTimeout: time.Hour, Cleanup: longWait,
		})))
	}
	return s
}

// rush makes all taps at once, each tap of a user at another process.
func (s *application) rush(ctx context.Context) (sold int64, err error) {
	var all sync.WaitGroup
	var orders atomic.Int64
	var mu sync.Mutex
	gate := make(chan struct{})
	for user := int64(1); user <= crowdUsers; user++ {
		for _, process := range s.services {
			all.Go(func() {
				<-gate
				_, failed := process.Place(ctx, order.Request{CouponID: s.coupon.ID, UserID: user})
				if failed == nil {
					orders.Add(1)
					return
				}
				if mu.Lock(); !refusal(failed) {
					err = errors.Join(err, failed)
				}
				mu.Unlock()
			})
		}
	}
	close(gate)
	all.Wait()
	return orders.Load(), err
}

// refusal reports whether a buyer may be refused with err.
func refusal(err error) bool {
	for _, fine := range []error{
		order.ErrLimitReached, order.ErrBusy, order.ErrUnavailable, order.ErrCommitUnknown, coupon.ErrSoldOut,
	} {
		if errors.Is(err, fine) {
			return true
		}
	}
	return false
}

// ids counts order ids for all processes.
type ids struct{ last atomic.Int64 }

// Next returns the next order id.
func (i *ids) Next(context.Context) (int64, error) { return i.last.Add(1), nil }
