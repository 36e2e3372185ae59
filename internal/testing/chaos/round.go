package chaos

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// round is one sale with one fault in it.
type round struct {
	*workload
	fault Fault

	attackers int     // of a flood
	beside    *Beside // how buyers fared meanwhile

	rng        *rand.Rand
	supervisor *supervisor
	done       chan struct{} // closed when the first part of the crowd has its answers
	began      time.Time
	bound      time.Duration // within which everything must be settled after the last fault
	again      time.Duration // within which an order must be made after the last fault; 0: it does not matter
	last       atomic.Int64  // when the last fault was over, in Unix nanoseconds; 0 while it is not
	epoch      int64         // of the coupon, before the fault
	raise      raise
	begins     time.Time // of the sales
	stock      int       // units at the start
	unsettled  bool      // it did not come to rest, and that is reported

	small       []*small
	smallBuyers []smallBuyer
}

// insistFor is how long after the last fault buyers go on asking.
const insistFor = 12 * time.Second

// play plays one round and judges it. The error is for what kept it from being
// played; the faults of the program are in the Result.
func (b *environment) play(ctx context.Context, cell Fault, seed uint64, requests, attackers int, bound time.Duration) (Result, error) {
	began := time.Now()
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // to be repeated, not to be secret
	requests *= max(1, cell.crowd)
	stock, limit := max(1, requests/3), cmp.Or(cell.limit, 1+rng.IntN(2))
	if cell.plenty {
		stock = requests
	}
	r := &round{fault: cell, rng: rng, done: make(chan struct{}), bound: bound, began: began, attackers: attackers}
	r.workload = &workload{client: newClient(b), rec: newRecord(), turnstile: make(chan struct{}, 1), races: cell.races, once: cell.once}
	r.closed.overtaken = b.lock == unlocked
	r.rec.skewed = strings.HasPrefix(cell.Name, "clock:")
	defer r.http.CloseIdleConnections()
	defer b.moveAway(cell)()
	r.stock, r.begins = stock, beginOf(b.mode, cell)
	var err error
	if r.coupon, err = r.sale(ctx, stock, limit); err != nil {
		return Result{}, err
	}
	r.plan(rng, requests)
	r.raise = planRaise(cell, rng, stock)
	r.repeats = planRepeats(cell, rng)
	if err := r.openSmall(ctx); err != nil {
		return Result{}, err
	}
	_ = sleep(ctx, time.Until(r.begins))
	r.supervisor = &supervisor{env: b, rec: r.rec, pause: cmp.Or(cell.pause, paused)}
	if cell.before != nil {
		if err := cell.before(ctx, r); err != nil {
			return Result{}, err
		}
	}
	if r.epoch, err = b.epoch(ctx, r.coupon); err != nil {
		return Result{}, err
	}
	r.supervisor.begin(ctx)
	struck, err := r.sell(ctx)
	r.supervisor.end()
	if err != nil {
		return Result{}, err
	}
	result := r.check(ctx)
	result.Cell, result.Seed, result.Hit = cell.Name, seed, struck
	result.Beside = r.beside
	result.Seconds = time.Since(began).Seconds()
	return result, ctx.Err()
}

// toOpen is how long it may take to put many coupons on sale. Their draws are to take place at one time.
const toOpen = 5 * time.Second

// beginOf returns the begin of the sales of a round. A draw starts with its sale.
func beginOf(mode string, f Fault) time.Time {
	now := time.Now().UTC()
	switch {
	case mode != Lottery:
		return now.Add(-time.Minute)
	case f.coupons > 0:
		return now.Add(toOpen).Truncate(time.Second)
	}
	return now
}

// sale puts a fresh coupon on sale.
func (r *round) sale(ctx context.Context, stock, limit int) (id string, err error) {
	var made struct {
		ID string `json:"id"`
	}
	body := fmt.Sprintf(`{"title":"Chaos","stock":%d,"limit_per_user":%d,"price_cents":990,"begins_at":%q,"ends_at":%q}`,
		stock, limit, r.begins.Format(time.RFC3339), r.begins.Add(time.Hour).Format(time.RFC3339))
	if err := r.admin(ctx, http.MethodPost, "/api/v1/admin/coupons", body, http.StatusCreated, &made); err != nil {
		return "", err
	}
	return made.ID, r.admin(ctx, http.MethodPost, "/api/v1/admin/coupons/"+made.ID+"/publication", "", http.StatusOK, nil)
}

// sell lets two thirds of the crowd come while the harm is done, and the rest after.
func (r *round) sell(ctx context.Context) (struck bool, err error) {
	if err := r.arm(ctx); err != nil {
		return false, err
	}
	if nodes, ok := r.env.rdb.(*redis.ClusterClient); ok {
		defer r.closed.watchMachine(ctx, nodes)()
	}
	early := r.wishes[:len(r.wishes)*2/3]
	others := r.smallBuyers[:len(r.smallBuyers)*2/3]
	var raising sync.WaitGroup
	raising.Go(func() { r.raiseStock(ctx) })
	raising.Go(func() { r.sellSmall(ctx, others) })
	go func() {
		defer close(r.done)
		r.run(ctx, early, r.pause(len(early)), r.until)
		if r.env.mode == Lottery {
			r.awaitDraw(ctx, early, r.until) // the fault may come in the midst of it
		}
	}()
	struck, err = r.fault.harm(ctx, r)
	for !r.supervisor.healthy() && ctx.Err() == nil {
		_ = sleep(ctx, 2*time.Millisecond)
	}
	for _, i := range r.env.fleet {
		if failed := i.arm(ctx, ""); failed != nil && err == nil {
			err = failed
		}
	}
	r.last.Store(r.rec.heal().UnixNano())
	r.healSmall()
	r.askAgain(ctx) // while there are units that a request could get a second time
	<-r.done
	raising.Wait()
	if err != nil {
		return struck, err
	}
	raising.Go(func() { r.sellSmall(ctx, r.smallBuyers[len(others):]) })
	r.run(ctx, r.wishes[len(early):], nil, r.until)
	raising.Wait()
	r.later.Wait()
	r.repeats = false
	r.endSmall()
	return struck, nil
}

// pause is between two buyers of the same lane, so that the crowd comes for as long as the fault lasts; a part of it
// is before the first, so that lanes do not come together and each second of the fault meets some.
func (r *round) pause(buyers int) func(ctx context.Context, part float64) {
	if r.fault.lasts == 0 {
		return nil
	}
	each := r.fault.lasts * buyersAtOnce / time.Duration(buyers)
	return func(ctx context.Context, part float64) {
		const look = 50 * time.Millisecond
		for until := time.Now().Add(time.Duration(part * float64(each))); r.last.Load() == 0 && time.Now().Before(until); {
			if !sleep(ctx, look) {
				return
			}
		}
	}
}

// until is when a buyer stops asking.
func (r *round) until() time.Time {
	if last := r.last.Load(); last > 0 {
		return time.Unix(0, last).Add(insistFor)
	}
	return time.Now().Add(insistFor)
}

func (r *round) arm(ctx context.Context) error {
	if r.fault.arm == nil {
		return nil
	}
	for n, spec := range r.fault.arm(r) {
		if err := r.env.fleet[n].arm(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// onTheWay waits until that percentage of the units is sold, or the crowd is through.
func (r *round) onTheWay(ctx context.Context, percent int) {
	want := len(r.wishes) / 3 * percent / 100
	if r.fault.late {
		want = r.stock * (80 + percent/5) / 100
	}
	for r.rec.accepted() < want && !r.through() {
		if !sleep(ctx, 2*time.Millisecond) {
			return
		}
	}
}

// through reports whether the first part of the crowd has its answers.
func (r *round) through() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
