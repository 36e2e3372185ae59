package rush

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// tap requests one unit until there is an outcome, and counts it once.
//
// A retry is safe because of the key: for the same key the server must return the same
// order. An earlier try, whose answer was lost, may have placed an order although the last try was refused.
// Only the audit knows, so committed is a column of its own.
func (r *run) tap(ctx, work context.Context, t tap) {
	r.countTap()
	if r.Looks {
		r.look(work, t)
		return
	}
	r.buy(ctx, work, t)
}

// buy is tap without the count of the tap.
func (r *run) buy(ctx, work context.Context, t tap) {
	q := request{
		method: http.MethodPost,
		path:   r.prefix + "/api/v1/coupons/" + r.Coupon + "/orders",
		token:  r.tokens[t.buyer],
		key:    r.keyOf(t),
	}
	for try := 1; ; try++ {
		a, err := r.sendTap(work, t, &q)
		v := classify(a, err)
		switch v.kind {
		case accepted:
			r.acknowledge(ctx, work, t, a.order)
			return
		case inDoubt:
			if try == 1 && !t.lost {
				r.countQueued()
			}
			if place := r.pollPath(a); place != "" {
				r.behind.Go(func() { r.pollInDoubt(ctx, work, t, place, a.after) })
				return
			}
		case refused:
			r.countRefusal(v.name, r.arrival(t))
			return
		case broken:
			if v.name == "malformed" {
				r.violation("contract: user %d was answered 201 without an order", r.userOf(t))
			}
			r.countFailure(v.name)
			return
		case retryable, unknown: // below, if there are tries left
		}
		if try == r.Tries || !r.backoff(ctx, &t, try, a.after) {
			r.giveUp(t, v)
			return
		}
		r.countRepeat()
		t.path = again
	}
}

// arrival returns when and how a tap came.
func (r *run) arrival(t tap) arrival {
	a := arrival{since: t.due, path: cmp.Or(t.path, atOnce)}
	if r.shards > 0 {
		a.shard = r.Home(r.userOf(t), r.shards)
	}
	return a
}

// backoff waits before the next try, and counts the time for which the server made the tap wait.
func (t *tap) backoff(ctx context.Context, try int, after time.Duration) bool {
	began := time.Now()
	goesOn := backoff(ctx, try, after)
	if after > 0 {
		t.told += time.Since(began)
	}
	return goesOn
}

// giveUp counts a tap by its last answer.
func (r *run) giveUp(t tap, v verdict) {
	if v.kind == retryable {
		r.countRefusal(v.name, r.arrival(t))
		return
	}
	r.countFailure(v.name)
}

// sendTap sends a purchase request, and asks for its purchase token before, where one is needed. The tap
// requests one token, so that every try has the same. A refusal of the token is one of the tap.
func (r *run) sendTap(work context.Context, t tap, q *request) (answer, error) {
	if t.late { // it is none of the workers' requests
		r.polls <- struct{}{}
		defer func() { <-r.polls }()
	}
	if r.permits && q.permit == "" {
		path := r.prefix + "/api/v1/coupons/" + r.Coupon + "/purchase-tokens"
		a, err := r.send(work, request{method: http.MethodPost, path: path, token: q.token})
		if err != nil || a.token == "" {
			return a, err
		}
		q.permit, q.key = a.token, ""
	}
	return r.send(work, *q)
}

// send sends one request and counts it if it was answered.
func (r *run) send(work context.Context, q request) (answer, error) {
	a, err := r.call(work, q)
	if err == nil {
		r.requests.Add(1)
	}
	return a, err
}

// call sends one request. It ends the run if the server is gone.
func (r *run) call(ctx context.Context, q request) (answer, error) {
	sent := time.Now()
	a, err := r.transport.call(ctx, q)
	if gone := r.silence.note(sent, a, err); gone != nil {
		r.abandon(gone)
	}
	return a, err
}

// acknowledge records an order of this buyer, and pays or cancels it if this buyer does.
func (r *run) acknowledge(ctx, work context.Context, t tap, o order) {
	user := r.userOf(t)
	if o.UserID != strconv.FormatInt(user, 10) || o.CouponID != r.Coupon {
		r.violation("contract: user %d requested coupon %s and got order %s, which is user %s's of coupon %s",
			user, r.Coupon, o.ID, o.UserID, o.CouponID)
	}
	a := &ack{id: o.ID, user: user, tap: t.nth, expires: o.ExpiresAt}
	nth := r.countAccepted(a, t.due, t.told)
	// 37 and 100 have no common divisor: of any 100 orders in a row exactly PayPercent are paid and
	// CancelPercent cancelled, and they are mixed.
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

// followUp pays or cancels an order. It records the wanted state before it sends: from
// then on the order may be in either state.
func (r *run) followUp(ctx, work context.Context, t tap, a *ack, want, verb string) {
	if ctx.Err() != nil {
		return
	}
	a.wantStatus = want
	q := request{method: http.MethodPost, path: r.pathOf(a.id) + verb, token: r.tokens[t.buyer]}
	for try := 1; try <= followTries; try++ {
		got, err := r.send(work, q)
		if err == nil && got.status == http.StatusOK && got.order.ID == a.id && got.order.Status == want {
			r.countFollowUp(a)
			return
		}
		if err == nil && got.status == http.StatusOK {
			r.violation("contract: user %d requested order %s to be %s and was answered order %q, %q",
				a.user, a.id, want, got.order.ID, got.order.Status)
			return
		}
		v := classifyRefusal(got)
		if err == nil && (v.kind == refused || v.kind == broken) || !backoff(ctx, try, got.after) {
			return
		}
	}
}

func (r *run) userOf(t tap) int64 { return r.FirstUser + int64(t.buyer) }

// keyOf returns the tap's Idempotency-Key: the same for every try, and different from
// that of every other tap of this or another run.
func (r *run) keyOf(t tap) string {
	if !r.Keys {
		return ""
	}
	return r.name + "-" + strconv.FormatInt(r.userOf(t), 10) + "-" + strconv.Itoa(t.nth)
}

func (r *run) pathOf(orderID string) string {
	return r.prefix + "/api/v1/orders/" + url.PathEscape(orderID)
}
