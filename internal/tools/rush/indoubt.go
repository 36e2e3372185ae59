package rush

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// pollInDoubt polls a 202 until it is an order or a refusal, at the times that the server
// gives in Retry-After. It runs beside the workers, so that waiting for a queue does not
// slow down the buyers that are still to come. The number of concurrent polls is bounded.
func (r *run) pollInDoubt(ctx, work context.Context, t tap, place string, after time.Duration) {
	q := request{method: http.MethodGet, path: place, token: r.tokens[t.buyer]}
	last := time.Now().Add(r.InDoubt)
	t.path, t.together = waited, nil // its outcome is no longer the worker's
	for try := 1; ; try++ {
		if !t.backoff(ctx, try, min(after, maxRetryAfter)) {
			r.countFailure("in_doubt")
			return
		}
		a, err := r.poll(work, q)
		after = a.after
		if drawn := a.order.DrawsAt.Add(r.InDoubt); !a.order.DrawsAt.IsZero() && drawn.After(last) {
			last = drawn
		}
		switch v := classifyPoll(a, err); v.kind {
		case accepted:
			r.acknowledge(ctx, work, t, a.order)
			return
		case refused:
			if a.status == http.StatusNotFound && r.Keys && !r.permits && !t.lost {
				// The server has lost the request with Redis. The contract lets the buyer repeat it with its key.
				t.lost, t.late = true, true
				r.countRepeat()
				r.buy(ctx, work, t)
				return
			}
			r.countRefusal(v.name, r.arrival(t))
			return
		case inDoubt, retryable, unknown, broken: // not a final answer
		}
		if time.Now().After(last) {
			r.violation("contract: user %d was answered 202 at %s, and after %v it was neither an order nor a refusal",
				r.userOf(t), place, r.InDoubt)
			r.countFailure("in_doubt")
			return
		}
	}
}

func (r *run) poll(work context.Context, q request) (answer, error) {
	r.polls <- struct{}{}
	defer func() { <-r.polls }()
	return r.send(work, q)
}

// pollPath returns the path at which a 202 can be polled, "" if the answer names none. It
// takes only the path of the Location: a token is sent to no other host.
func (r *run) pollPath(a answer) string {
	if a.location == "" {
		if a.order.ID == "" {
			return ""
		}
		return r.pathOf(a.order.ID)
	}
	u, err := url.Parse(a.location)
	if err != nil || u.Path == "" || u.Path[0] != '/' {
		return ""
	}
	return u.EscapedPath()
}
