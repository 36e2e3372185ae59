package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// smallCoupons is how many coupons are on sale in addition to the one that is rushed.
const smallCoupons = 200

// A small coupon has one to three units. Its buyers send 2n + 1 requests for n units.
const smallMost = 3

// manyFaults are rounds with many small coupons on sale while a fault happens. Each has buyers of its own, comes to
// rest within the same bound, and is checked as the one that is rushed.
func manyFaults() []Fault {
	var all []Fault
	for _, f := range renamed("many:", slices.Concat(storeFaults(), stepFaults(), distances()), []string{
		"nothing", "instance:kill", "instance:stop", "redis:kill", "redis:flushed", "redis:restarted-empty",
		"redis:failover-to-old-data", "database:kill", "database:commits-stalled", "cluster:shard-kill",
		"distance:both", "reserve.after:kill", "commit.after:lose",
	}) {
		f.coupons = smallCoupons
		all = append(all, f)
	}
	return all
}

// renamed returns the faults of these names with a prefix, and with hyphens for colons: a pattern for the fault itself
// does not match the other name.
func renamed(prefix string, from []Fault, names []string) []Fault {
	all := make([]Fault, 0, len(names))
	for _, name := range names {
		n := slices.IndexFunc(from, func(f Fault) bool { return f.Name == name })
		f := from[n]
		f.Name = prefix + strings.ReplaceAll(name, ":", "-")
		all = append(all, f)
	}
	return all
}

// small is a coupon that is not rushed: a round of its own on the same fleet, without a fault of its own.
type small struct {
	*round

	err     error      // of its publication
	at      storeState // when it came to rest
	settled time.Duration
	result  Result
}

// smallBuyer is a wish for a small coupon.
type smallBuyer struct {
	of   *small
	wish *purchase
}

// openSmall puts the small coupons on sale, and plans their buyers, in random order.
func (r *round) openSmall(ctx context.Context) error {
	for range r.fault.coupons {
		s := &small{round: &round{
			stock: 1 + r.rng.IntN(smallMost), begins: r.begins,
			fault: Fault{
				Name: r.fault.Name, kind: r.fault.kind, whole: r.fault.whole, farRedis: r.fault.farRedis, farDatabase: r.fault.farDatabase,
			},
			done: r.done, bound: r.bound, began: r.began,
			rng: rand.New(rand.NewPCG(r.rng.Uint64(), 1)), //nolint:gosec // to be repeated, not to be secret
		}}
		s.workload = &workload{client: r.client, rec: newRecord(), repeats: r.repeats}
		s.closed.overtaken = r.closed.overtaken
		r.small = append(r.small, s)
	}
	each(r.small, func(s *small) {
		if s.coupon, s.err = s.sale(ctx, s.stock, 1); s.err == nil {
			s.epoch, s.err = s.env.epoch(ctx, s.coupon)
		}
	})
	for _, s := range r.small {
		if s.err != nil {
			return fmt.Errorf("put a small coupon on sale: %w", s.err)
		}
		s.plan(s.rng, 2*s.stock+1)
		for _, w := range s.wishes {
			r.smallBuyers = append(r.smallBuyers, smallBuyer{s, w})
		}
	}
	r.rng.Shuffle(len(r.smallBuyers), func(i, j int) {
		r.smallBuyers[i], r.smallBuyers[j] = r.smallBuyers[j], r.smallBuyers[i]
	})
	return nil
}

// sellSmall sends some buyers of small coupons, and returns when each has its answer.
func (r *round) sellSmall(ctx context.Context, buyers []smallBuyer) {
	each(buyers, func(b smallBuyer) { b.of.buyer(ctx, b.wish, b.of.until) })
}

// healSmall starts the clock of recovery of the small coupons.
func (r *round) healSmall() {
	for _, s := range r.small {
		s.last.Store(s.rec.heal().UnixNano())
	}
}

// endSmall returns when no buyer of a small coupon has anything left to do, and repeats no keys from then on.
func (r *round) endSmall() {
	for _, s := range r.small {
		s.later.Wait()
		s.repeats = false
	}
}

// settleSmall lets all small coupons come to rest, before it checks any further. All have the same bound.
func (r *round) settleSmall(ctx context.Context) {
	each(r.small, func(s *small) { s.at, s.settled = s.settle(ctx) })
}

// checkSmall checks each small coupon as the one that is rushed, and reports their problems.
func (r *round) checkSmall(ctx context.Context) {
	lanes := make(chan struct{}, 4) // each has lanes of its own
	var all sync.WaitGroup
	for _, s := range r.small {
		lanes <- struct{}{}
		all.Go(func() {
			defer func() { <-lanes }()
			s.result = s.judge(ctx, s.inspect(ctx, s.at), s.settled)
		})
	}
	all.Wait()
	for n, s := range r.small {
		for _, p := range s.result.Problems {
			r.rec.problem("small coupon %d of %d: %s", n+1, len(r.small), p)
		}
	}
}

// add counts what became of a small coupon.
func (r *Result) add(s Result) {
	r.Coupons++
	r.Asked += s.Asked
	r.Acknowledged += s.Acknowledged
	r.Committed += s.Committed
	r.Doubts += s.Doubts
	r.Open += s.Open
	r.Unanswered += s.Unanswered
	r.Repeats += s.Repeats
	r.Repeated += s.Repeated
	for code, n := range s.Refused {
		r.Refused[code] += n
	}
	r.Lost += s.Lost
	r.Oversold += s.Oversold
	r.AboveLimit += s.AboveLimit
	r.Leaked += s.Leaked
	r.Settled = max(r.Settled, s.Settled)
	r.Slowest = max(r.Slowest, s.Slowest)
}
