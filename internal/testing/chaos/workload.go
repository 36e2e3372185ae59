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

// workload is the buyers of one round: three times as many requests as there are units.
// Some tap twice with the same key, some come back with another one, some pay and
// some cancel.
type workload struct {
	*client
	rec    *record
	coupon string
	wishes []*purchase
	races  bool // pay in the moment in which the order expires
	once   bool // no buyer taps twice, comes back, pays or cancels
	// repeats: every refused key is repeated, and the stores are asked about each key that was sent before.
	repeats bool
	later   sync.WaitGroup
	closed  closedShards

	turnstile chan struct{} // which buyers pass one by one; nil: there is none
}

const (
	buyersAtOnce = 24
	tapTwice     = 20 // of 100 buyers, how many tap twice
	comeBack     = 20 // of 100 buyers, how many have a second wish
	payPercent   = 12
	cancelUpTo   = 24 // from payPercent on
	keeps        = 99 // a lot of a buyer who keeps the order as it is
)

// plan makes wishes with so many taps in all.
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

// run sends the purchases and returns when each has its answer, or until has passed. A lane that has
// served a buyer makes a pause, which may be nil, and a part of one before its first.
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

// tap asks with the wish's key until there is an answer that stands. After a lost
// answer, or one that may be asked again, it asks another instance.
func (c *workload) tap(ctx context.Context, w *purchase, until func() time.Time) {
	c.rec.count(&c.rec.asked)
	if !c.insist(ctx, w, until) {
		c.rec.count(&c.rec.open)
	}
}

// insist is false if there was no answer that stands.
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
			return true // followed to its end when the faults are over
		case a.status == 0:
			c.rec.count(&c.rec.lost)
		case a.code == "conflict" && !givenUp: // for ever: the same request is told the same
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

// bought takes the order of an answer 201.
func (c *workload) bought(ctx context.Context, w *purchase, a answer) {
	if a.open() || a.order.Status == "void" {
		c.rec.problem("user %d was answered 201, and the order is %s", w.user, a.order.Status)
	}
	c.own(ctx, w, a)
}

// accepted notes the place of an answer 202.
func (c *workload) accepted(ctx context.Context, w *purchase, a answer) {
	c.rec.count(&c.rec.doubts)
	c.rec.mu.Lock()
	w.place, w.told = a.place, time.Now()
	c.rec.mu.Unlock()
	if c.env.mode == Queue { // a ticket is asked after when all have theirs
		c.awaitQueue(ctx, w, a.place)
	}
}

// buy asks for the wish's unit once, and for its purchase token before, where one is needed: that is asked
// for until it is given, and then every try and every tap has the same. The answer is that to the token if
// none was given.
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

// queueTimeout bounds how long a buyer asks after the place in the queue, before that is left
// to the end of the round.
const queueTimeout = 2 * time.Second

// awaitQueue asks after a queued request until it has ended or the buyer has timed out.
// Not found is left to be asked again: while Redis has lost its data, the database may
// not have the order yet.
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

// awaitDraw asks after the tickets of the wishes, each until it has ended or until has passed.
func (c *workload) awaitDraw(ctx context.Context, wishes []*purchase, until func() time.Time) {
	each(wishes, func(w *purchase) {
		for c.rec.placeOf(w) != "" && time.Now().Before(until()) && ctx.Err() == nil {
			c.awaitQueue(ctx, w, c.rec.placeOf(w))
		}
	})
}

// ended records how a request ended that was answered 202.
func (c *workload) ended(ctx context.Context, w *purchase, a answer) {
	if a.order.Status == "not_drawn" {
		c.rec.notDrawn(w)
		return
	}
	c.rec.mu.Lock()
	w.place = ""
	void := a.order.Status == "void"
	if void {
		w.gone, w.since = true, a.asked
	}
	c.rec.mu.Unlock()
	if !void {
		c.own(ctx, w, a)
	}
}

// own takes note of an order, and does with it what this buyer does.
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

// follow pays or cancels. What it wants is noted before it is sent: from then on the
// order may be in either state.
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
		default: // it cannot be paid or cancelled, and says so
			c.rec.mu.Lock()
			o.refused = a.code == "conflict" && !unsure
			c.rec.mu.Unlock()
			return
		}
	}
}
