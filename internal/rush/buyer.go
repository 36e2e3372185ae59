package rush

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// tap asks for one unit until there is an outcome, and counts it once.
//
// What a repeat can do is decided by the key: with the same key the server must
// give the same order, so a lost answer may be asked for again. That the last
// answer is a refusal does not mean that an earlier, lost one was not an order:
// only the audit can tell, which is why committed is a column of its own.
func (r *run) tap(ctx, work context.Context, t tap) {
	r.ask()
	q := request{
		method: http.MethodPost,
		path:   r.prefix + "/api/v1/coupons/" + r.Coupon + "/orders",
		token:  r.tokens[t.buyer],
		key:    r.keyOf(t),
	}
	for try := 1; ; try++ {
		a, err := r.send(work, q)
		v := judge(a, err)
		switch v.kind {
		case accepted:
			r.own(ctx, work, t, a.order)
			return
		case doubtful:
			if try == 1 {
				r.queue()
			}
			if place := r.placeOf(a); place != "" {
				r.doubts.Go(func() { r.settle(ctx, work, t, place, a.after) })
				return
			}
		case refused:
			r.refuse(v.name, t.due)
			return
		case broken:
			if v.name == "malformed" {
				r.violation("user %d was answered 201 without an order", r.userOf(t))
			}
			r.fail(v.name)
			return
		case again, unknown: // below, if there are tries left
		}
		if try == r.Tries || !pause(ctx, try, a.after) {
			r.giveUp(t, v)
			return
		}
		r.repeat()
	}
}

// giveUp counts a tap by the last that was heard of it.
func (r *run) giveUp(t tap, v verdict) {
	if v.kind == again {
		r.refuse(v.name, t.due)
		return
	}
	r.fail(v.name)
}

// send makes one request and counts it if it was answered.
func (r *run) send(work context.Context, q request) (answer, error) {
	a, err := r.line.call(work, q)
	if err == nil {
		r.requests.Add(1)
	}
	return a, err
}

// own takes note of an order that is now this buyer's, and does with it what
// this buyer does.
func (r *run) own(ctx, work context.Context, t tap, o order) {
	user := r.userOf(t)
	if o.UserID != strconv.FormatInt(user, 10) || o.CouponID != r.Coupon {
		r.violation("user %d asked for coupon %s and got order %s, which is user %s's of coupon %s",
			user, r.Coupon, o.ID, o.UserID, o.CouponID)
	}
	a := &ack{id: o.ID, user: user, tap: t.nth, expires: o.ExpiresAt}
	nth := r.accept(a, t.due)
	// 37 and 100 have no common divisor: of any 100 orders in a row exactly so
	// many are paid and so many cancelled, and they are mixed.
	switch lot := nth * 37 % 100; {
	case lot < r.PayPercent:
		r.followUp(ctx, work, t, a, "paid", "/payment")
	case lot < r.PayPercent+r.CancelPercent:
		r.followUp(ctx, work, t, a, "cancelled", "/cancellation")
	}
}

// followTries bounds how often a payment or cancellation is sent. Repeating one
// gives the same answer, key or no key.
const followTries = 8

// followUp pays or cancels. What it wants is noted before it is sent: from then
// on the order may be in either state.
func (r *run) followUp(ctx, work context.Context, t tap, a *ack, want, verb string) {
	if ctx.Err() != nil {
		return
	}
	a.want = want
	q := request{method: http.MethodPost, path: r.pathOf(a.id) + verb, token: r.tokens[t.buyer]}
	for try := 1; try <= followTries; try++ {
		got, err := r.send(work, q)
		if err == nil && got.status == http.StatusOK && got.order.ID == a.id && got.order.Status == want {
			r.follow(a)
			return
		}
		if err == nil && got.status == http.StatusOK {
			r.violation("user %d asked for order %s to be %s and was answered order %q, %q",
				a.user, a.id, want, got.order.ID, got.order.Status)
			return
		}
		v := judgeNo(got)
		if err == nil && (v.kind == refused || v.kind == broken) || !pause(ctx, try, got.after) {
			return
		}
	}
}

func (r *run) userOf(t tap) int64 { return r.FirstUser + int64(t.buyer) }

// keyOf is the tap's Idempotency-Key: the same for every try, and of no other
// tap of this or another run.
func (r *run) keyOf(t tap) string {
	if !r.Keys {
		return ""
	}
	return r.name + "-" + strconv.FormatInt(r.userOf(t), 10) + "-" + strconv.Itoa(t.nth)
}

func (r *run) pathOf(orderID string) string {
	return r.prefix + "/api/v1/orders/" + url.PathEscape(orderID)
}
