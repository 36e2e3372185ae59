package rush

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// readBackTries bounds how often one order is read before it counts as lost. With the pauses between
// the tries that is more than five seconds: a server that is gone ends the run before.
const readBackTries = 16

// sampleSize returns the number of acknowledged orders to read back.
func (r *run) sampleSize() int {
	switch n := len(r.acks); {
	case r.Verify < 0:
		return 0
	case r.Verify == 0:
		return min(n, 1000)
	default:
		return min(n, r.Verify)
	}
}

// readBack reads acknowledged orders as their owners, spread evenly over the run, and
// returns how many were read. Those that ctx leaves no time for are no violation.
func (r *run) readBack(ctx context.Context) int {
	n := r.sampleSize()
	var next, done atomic.Int64
	var workers sync.WaitGroup
	for range min(r.Concurrency, n) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || !r.readOne(ctx, r.acks[i*len(r.acks)/n]) {
					return
				}
				done.Add(1)
			}
		})
	}
	workers.Wait()
	return int(done.Load())
}

// readOne reads one order. It reports false if ctx ended before there was an answer.
func (r *run) readOne(ctx context.Context, a *ack) bool {
	q := request{method: http.MethodGet, path: r.pathOf(a.id), token: r.tokens[a.user-r.FirstUser]}
	for try := 1; ; try++ {
		got, err := r.call(ctx, q)
		if err == nil && got.status == http.StatusOK {
			r.compare(a, got.order)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		v := classifyPoll(got, err)
		if v.kind == refused || v.kind == broken || try == readBackTries {
			r.lose("lost: order %s of user %d was acknowledged and cannot be read: %s", a.id, a.user, v.name)
			return true
		}
		if !backoff(ctx, try, min(got.after, maxBackoff)) {
			return false
		}
	}
}

// compare checks that an order is as its owner was told.
func (r *run) compare(a *ack, o order) {
	if o.ID != a.id || o.UserID != strconv.FormatInt(a.user, 10) || o.CouponID != r.Coupon {
		r.lose("lost: user %d reads order %s and gets order %s of user %s, coupon %s",
			a.user, a.id, o.ID, o.UserID, o.CouponID)
		return
	}
	if !a.allows(o.Status, time.Now()) {
		r.violation("wrong state: order %s of user %d should be %s and is %q", a.id, a.user, cmp.Or(a.wantStatus, "pending"), o.Status)
	}
}

// allows reports whether the order may be in this state now.
func (a *ack) allows(status string, now time.Time) bool {
	if a.confirmed {
		return status == a.wantStatus
	}
	switch status {
	case "pending":
		return true
	case "expired":
		return a.mayHaveExpired(now)
	}
	return a.wantStatus != "" && status == a.wantStatus
}
