package chaos

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// This file holds the checks of I8. A key may be refused for good only if no attempt of its has a unit or an order. So
// it has no order that was made before that answer.
//
// In a round that repeats refused keys, the buyer sends each at once to another instance, and once more later. The
// harness reads the stores before it sends a key again, and after a refusal. A unit or an order that it finds both
// times was there when the program refused the key.

// repeatFaults are rounds in which every refused key is repeated. Most strike when few units are left: then an instance
// refuses from memory while another one, which was harmed, has units.
func repeatFaults() []Fault {
	var all []Fault
	for _, f := range renamed("repeat:", slices.Concat(storeFaults(), stepFaults()), []string{
		"nothing", "instance:kill", "instance:stop", "redis:flushed", "redis:failover-to-old-data", "database:kill",
		"database:row-held", "database:commits-stalled", "network:redis-replies-lost", "network:database-replies-lost",
		"commit.after:lose",
	}) {
		f.repeats, f.late = true, true
		all = append(all, f)
	}
	return all
}

// planRepeats reports whether refused keys are repeated: in every third round, and where the fault says so. Not where
// a tap is one request, an earlier build answers, or a clock is wrong.
func planRepeats(f Fault, rng *rand.Rand) bool {
	third := rng.IntN(3) == 0
	if f.once || f.kind == upgraded || f.kind == expiring {
		return false
	}
	return f.repeats || third
}

// repeatLater is the longest time until a refused key is sent for the third time. It is longer than a refusal from
// memory may be old.
const repeatLater = 1200 * time.Millisecond

// repeatRefused repeats a refused key at once at another instance, and a third time later.
func (c *workload) repeatRefused(ctx context.Context, w *purchase, refused answer) {
	if !c.repeats {
		return
	}
	second := c.repeatOnce(ctx, w, c.env.pickOther(refused.from))
	c.later.Go(func() {
		if sleep(ctx, rand.N(repeatLater)) { //nolint:gosec // any moment will do
			c.repeatOnce(ctx, w, c.env.pickOther(second.from))
		}
	})
}

// repeatOnce sends a key once more, and takes the order or the place that it gets.
func (c *workload) repeatOnce(ctx context.Context, w *purchase, url string) answer {
	c.rec.count(&c.rec.repeated)
	a := c.request(ctx, w, url)
	switch a.status {
	case http.StatusCreated:
		c.bought(ctx, w, a)
	case http.StatusAccepted:
		c.accepted(ctx, w, a)
	case 0:
		c.rec.count(&c.rec.lost)
	}
	return a
}

// request sends a wish once, and compares the answer with the knowledge of its key before.
func (c *workload) request(ctx context.Context, w *purchase, url string) answer {
	before := c.known(ctx, w)
	c.rec.sent(w, &before)
	began := time.Now()
	a := c.buy(ctx, w, url)
	c.rec.took(w, time.Since(began), before.first)
	var after knowledge
	if a.refusedForGood() && before.inStores() {
		after = c.known(ctx, w)
	}
	c.rec.answered(w, a, before, after)
	return a
}

// refusedForGood reports whether the answer is a refusal that a client need not repeat. A request that was given up is
// not among them: its key is refused for ever, and record.acknowledge holds that.
func (a answer) refusedForGood() bool {
	switch a.code {
	case "sold_out", "limit_reached", "cooldown", "not_started", "ended":
		return true
	}
	return false
}

// knowledge is the orders and the unit that a key has at one moment.
type knowledge struct {
	at    time.Time
	first bool  // the key was never sent before
	told  int64 // an order that an answer has named, or 0
	order int64 // an order that the database has, or 0
	hold  int64 // the order of an open hold, or 0
}

func (k knowledge) inStores() bool { return k.order != 0 || k.hold != 0 }

// knownWithin bounds one look into a store. A store that is away shows nothing.
const knownWithin = 300 * time.Millisecond

// known reads the stores, if the round repeats keys and this one was sent before.
func (c *workload) known(ctx context.Context, w *purchase) (k knowledge) {
	k.at = time.Now()
	if !c.repeats || c.env.tokens || !c.rec.wasSent(w) {
		return k
	}
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	db, rdb := c.env.stores()
	request := order.RequestID(order.Request{UserID: w.user, Key: w.key})
	if err := db.QueryRowContext(ctx, "SELECT id FROM orders WHERE request_id = ? AND user_id = ? AND status <> 'void'", request, w.user).
		Scan(&k.order); err != nil {
		k.order = 0
	}
	k.hold = unitOf(ctx, rdb, c.coupon, w.user, request)
	return k
}

// unitOf returns the order of the request's hold, or 0 if the request has no unit. A mark at the home shard is no unit:
// it says that the request asks the siblings for one. It comes and goes while they run empty.
func unitOf(ctx context.Context, rdb redis.UniversalClient, couponID string, user int64, request string) int64 {
	home := coupon.Home(user, shards)
	held := rdb.HGet(ctx, shardKeys(couponID, home)+"requests", request)
	id, err := held.Int64()
	if err != nil {
		return 0
	}
	if strings.HasPrefix(rdb.HGet(ctx, shardKeys(couponID, home)+"holds", held.Val()).Val(), "own ") {
		return id
	}
	for shard := range shards {
		if strings.HasPrefix(rdb.HGet(ctx, shardKeys(couponID, shard)+"holds", held.Val()).Val(), "lent ") {
			return id
		}
	}
	return 0
}

// wasSent reports whether the key of a wish was sent before.
func (r *record) wasSent(w *purchase) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.sent > 0
}

// sent records that a request is sent, and adds to k the order that earlier answers named.
func (r *record) sent(w *purchase, k *knowledge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.first = w.sent == 0
	w.sent++
	w.inFlight++
	for _, id := range w.ids {
		k.told = id
	}
}

// answered records an answer to a request. It reports a refusal of a key that has a unit or an order.
func (r *record) answered(w *purchase, a answer, before, after knowledge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.inFlight--
	if !a.refusedForGood() {
		w.unsure = true // an attempt may go on after such an answer, or has made an order
		return
	}
	switch {
	case r.history.after(before.at): // the database was replaced meanwhile
	case before.told != 0 && !r.undone(r.byOrder[before.told]):
		r.problemLocked("user %d was told of order %d, and its key was refused as %s after that", w.user, before.told, a.code)
	case before.order != 0 && before.order == after.order:
		r.problemLocked("the key of user %d was refused as %s, and the database had its order %d", w.user, a.code, before.order)
	case before.hold != 0 && before.hold == after.hold:
		r.problemLocked("the key of user %d was refused as %s, and it had a unit, for order %d", w.user, a.code, before.hold)
	}
	if w.inFlight == 0 && !w.unsure {
		w.refused, w.refusedAs = time.Now(), a.code
	}
}

// madeAfter reports an order that was made before its key was refused. Only a key counts whose requests were all
// answered then, each with a refusal. An instance that did not answer may still be at work.
func (r *record) madeAfter(w *purchase, o orderJSON) {
	r.mu.Lock()
	defer r.mu.Unlock()
	made := o.CreatedAt.Add(time.Millisecond) // the database keeps whole ones
	if !r.skewed && !o.CreatedAt.IsZero() && made.Before(w.refused) {
		r.problemLocked("order %s of user %d was made at %s, and its key was refused as %s at %s",
			o.ID, w.user, o.CreatedAt.UTC().Format(time.StampMilli), w.refusedAs, w.refused.UTC().Format(time.StampMilli))
	}
}
