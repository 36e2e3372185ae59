package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// workload holds the buyers of one round. They send three requests per unit. Some buyers tap twice with the
// same key, some come back with another key, some pay and some cancel.
type workload struct {
	*client
	rec    *record
	coupon string
	wishes []*purchase
	races  bool // pay at the moment at which the order expires
	once   bool // no buyer taps twice, comes back, pays or cancels
	// repeats means that buyers repeat every rejected key, and that the workload queries the stores for each
	// key that was sent before.
	repeats bool
	later   sync.WaitGroup
	closed  closedShards

	turnstile chan struct{} // buyers pass it one by one; nil: there is none
}

const (
	buyersAtOnce = 24
	tapTwice     = 20 // of 100 buyers, how many tap twice
	comeBack     = 20 // of 100 buyers, how many have a second purchase request
	payPercent   = 12
	cancelUpTo   = 24 // from payPercent on
	keeps        = 99 // the lot of a buyer who leaves the order as it is
)

// plan adds purchase requests with that many taps in total.
func (c *workload) plan(rng *rand.Rand, taps int) {
	for taps > 0 {
		user := c.env.users.Add(1)
		token := c.token(user, "user")
		for n := range 2 {
			if n > 0 && (c.once || rng.IntN(100) >= comeBack) {
				break
			}
			w := &purchase{user: user, token: token, key: fmt.Sprintf("%s-%d-%d", c.coupon, user, n), taps: 1, lot: rng.IntN(100)}
			switch {
			case c.once:
				w.lot = keeps
			case rng.IntN(100) < tapTwice:
				w.taps = 2
			}
			c.wishes = append(c.wishes, w)
			taps -= w.taps
		}
	}
}

// run sends the purchase requests. It returns when each has its answer or the time until has passed. If pause
// is not nil, a lane pauses after each buyer, and for a part of a pause before its first buyer.
func (c *workload) run(ctx context.Context, wishes []*purchase, pause func(ctx context.Context, part float64), until func() time.Time) {
	var next atomic.Int64
	var lanes sync.WaitGroup
	most := min(buyersAtOnce, len(wishes))
	for lane := range most {
		lanes.Go(func() {
			if pause != nil {
				pause(ctx, float64(lane)/float64(most))
			}
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(wishes) {
					return
				}
				if c.turnstile != nil {
					c.turnstile <- struct{}{}
					<-c.turnstile
				}
				c.buyer(ctx, wishes[n], until)
				if pause != nil {
					pause(ctx, 1)
				}
			}
		})
	}
	lanes.Wait()
}

func (c *workload) buyer(ctx context.Context, w *purchase, until func() time.Time) {
	var taps sync.WaitGroup
	for range w.taps - 1 {
		taps.Go(func() { c.tap(ctx, w, until) })
	}
	c.tap(ctx, w, until)
	taps.Wait()
}

// tap sends the purchase request until it gets a final answer. After a lost answer, or an answer that allows
// another try, it calls another instance.
func (c *workload) tap(ctx context.Context, w *purchase, until func() time.Time) {
	c.rec.count(&c.rec.asked)
	if !c.insist(ctx, w, until) {
		c.rec.count(&c.rec.open)
	}
}

// insist reports whether there was a final answer.
func (c *workload) insist(ctx context.Context, w *purchase, until func() time.Time) bool {
	givenUp := false
	for try := 0; ctx.Err() == nil; try++ {
		if try > 0 {
			if time.Now().After(until()) {
				break
			}
			c.rec.repeat()
			if !sleep(ctx, min(20*time.Millisecond<<min(try, 5), 300*time.Millisecond)) {
				break
			}
		}
		a := c.request(ctx, w, c.env.pick())
		c.closed.answered(w.user, a)
		switch {
		case a.status == http.StatusCreated:
			c.bought(ctx, w, a)
			return true
		case a.status == http.StatusAccepted:
			c.accepted(ctx, w, a)
			return true // the round follows it to its end when the faults are over
		case a.status == 0:
			c.rec.count(&c.rec.lost)
		case a.code == "conflict" && !givenUp: // final: a repeated request gets the same answer
			givenUp = true
			c.rec.mu.Lock()
			w.gone, w.since = true, a.asked
			c.rec.mu.Unlock()
		case !a.again():
			c.rec.refuse(a.code)
			c.repeatRefused(ctx, w, a)
			return true
		}
	}
	return false
}

// bought records the order of an answer 201.
func (c *workload) bought(ctx context.Context, w *purchase, a answer) {
	if a.open() || a.order.Status == "abandoned" {
		c.rec.problem("user %d was answered 201, and the order is %s", w.user, a.order.Status)
	}
	c.own(ctx, w, a)
}

// accepted records the place of an answer 202.
func (c *workload) accepted(ctx context.Context, w *purchase, a answer) {
	c.rec.count(&c.rec.doubts)
	c.rec.mu.Lock()
	w.place, w.told = a.place, time.Now()
	c.rec.mu.Unlock()
	if c.env.mode == Queue { // in a draw, the tickets are polled when all buyers have theirs
		c.awaitQueue(ctx, w, a.place)
	}
}

// buy sends the purchase request once. If the sale needs a purchase token and the request has none, buy asks
// for the token first. All later tries and taps of the purchase request share the token. If no server gave a
// token, buy returns the answer to the request for the token.
func (c *workload) buy(ctx context.Context, w *purchase, url string) answer {
	path := "/api/v1/coupons/" + c.coupon
	if !c.env.tokens {
		return c.ask(ctx, url, http.MethodPost, path+"/orders", w.token, w.key, "")
	}
	w.permits.Lock()
	if w.permit == "" {
		a := c.ask(ctx, c.env.pick(), http.MethodPost, path+"/purchase-tokens", w.token, "", "")
		var given struct {
			Token string `json:"token"`
		}
		if a.status != http.StatusCreated || json.Unmarshal(a.body, &given) != nil || given.Token == "" {
			w.permits.Unlock()
			return a
		}
		w.permit = given.Token
	}
	w.permits.Unlock()
	return c.ask(ctx, url, http.MethodPost, path+"/orders", w.token, w.permit, "")
}

// queueTimeout bounds how long a buyer polls the place in the queue. After it, the end of the round follows the
// request.
const queueTimeout = 2 * time.Second

// awaitQueue polls a queued request until it has ended or the buyer has timed out. It also polls again after
// "not found": while Redis has lost its data, the database may not have the order yet.
func (c *workload) awaitQueue(ctx context.Context, w *purchase, place string) {
	for last := time.Now().Add(queueTimeout); time.Now().Before(last) && sleep(ctx, 20*time.Millisecond); {
		a := c.ask(ctx, c.env.pick(), http.MethodGet, place, w.token, "", "")
		if a.status != http.StatusOK || a.open() {
			continue
		}
		c.ended(ctx, w, a)
		return
	}
}

// awaitDraw polls the tickets of the purchase requests, each until it has ended or the time until has passed.
func (c *workload) awaitDraw(ctx context.Context, wishes []*purchase, until func() time.Time) {
	each(wishes, func(w *purchase) {
		for c.rec.placeOf(w) != "" && time.Now().Before(until()) && ctx.Err() == nil {
			c.awaitQueue(ctx, w, c.rec.placeOf(w))
		}
	})
}

// ended records the end of a request that was answered 202.
func (c *workload) ended(ctx context.Context, w *purchase, a answer) {
	if a.order.Status == "not_drawn" {
		c.rec.notDrawn(w)
		return
	}
	c.rec.mu.Lock()
	w.place = ""
	void := a.order.Status == "abandoned"
	if void {
		w.gone, w.since = true, a.asked
	}
	c.rec.mu.Unlock()
	if !void {
		c.own(ctx, w, a)
	}
}

// own records an order, and then pays it, cancels it or leaves it, as the buyer's lot says.
func (c *workload) own(ctx context.Context, w *purchase, a answer) {
	id, err := strconv.ParseInt(a.order.ID, 10, 64)
	if err != nil || a.order.UserID != strconv.FormatInt(w.user, 10) || a.order.CouponID != c.coupon {
		c.rec.problem("user %d asked for coupon %s and was answered %d: %s", w.user, c.coupon, a.status, a.body)
		return
	}
	c.rec.madeAfter(w, a.order)
	o := c.rec.acknowledge(w, id, a.order.ExpiresAt, a.asked)
	if o == nil {
		return
	}
	switch {
	case c.races:
		c.later.Go(func() {
			if sleep(ctx, time.Until(o.expires)-20*time.Millisecond+rand.N(40*time.Millisecond)) { //nolint:gosec // any moment will do
				c.follow(ctx, o, "paid", "/payment")
			}
		})
	case w.lot < payPercent:
		c.follow(ctx, o, "paid", "/payment")
	case w.lot < cancelUpTo:
		c.follow(ctx, o, "cancelled", "/cancellation")
	}
}

// followTries bounds how often a payment or a cancellation is sent.
const followTries = 12

// follow pays or cancels an order. It records the wanted state before it sends the request, because from then
// on the order may be in either state.
func (c *workload) follow(ctx context.Context, o *acknowledged, want, verb string) {
	c.rec.mu.Lock()
	o.want = want
	c.rec.mu.Unlock()
	unsure := false
	for try := range followTries {
		if try > 0 && !sleep(ctx, min(20*time.Millisecond<<min(try, 5), 300*time.Millisecond)) {
			return
		}
		path := "/api/v1/orders/" + strconv.FormatInt(o.id, 10) + verb
		switch a := c.ask(ctx, c.env.pick(), http.MethodPost, path, o.wish.token, "", ""); {
		case a.status == http.StatusOK && a.order.Status == want:
			c.rec.mu.Lock()
			o.sure, o.followed = true, a.asked
			c.rec.mu.Unlock()
			return
		case a.status == http.StatusOK:
			c.rec.problem("user %d asked for order %d to be %s and was answered %q", o.wish.user, o.id, want, a.order.Status)
			return
		case a.again():
			unsure = true
		default: // the server answers that the order cannot be paid or cancelled
			c.rec.mu.Lock()
			o.refused = a.code == "conflict" && !unsure
			c.rec.mu.Unlock()
			return
		}
	}
}
