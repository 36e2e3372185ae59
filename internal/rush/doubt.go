package rush

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// settle polls a 202 until it is an order or a refusal, when the server says that it
// should, as clients are told to. It runs beside the lanes, so that waiting for a queue
// does not slow down those who still want to ask; how many polls are sent at once is
// bounded.
func (r *run) settle(ctx, work context.Context, t tap, place string, after time.Duration) {
	q := request{method: http.MethodGet, path: place, token: r.tokens[t.buyer]}
	last := time.Now().Add(r.bounds.doubt)
	for try := 1; ; try++ {
		if !pause(ctx, try, min(after, longestPause)) {
			r.fail("in_doubt")
			return
		}
		a, err := r.poll(work, q)
		after = a.after
		switch v := judgePoll(a, err); v.kind {
		case accepted:
			r.own(ctx, work, t, a.order)
			return
		case refused:
			r.refuse(v.name, t.due)
			return
		case doubtful, again, unknown, broken: // whatever it is, it is not the end
		}
		if time.Now().After(last) {
			r.violation("user %d was answered 202 at %s, and after %v it was neither an order nor a refusal",
				r.userOf(t), place, r.bounds.doubt)
			r.fail("in_doubt")
			return
		}
	}
}

func (r *run) poll(work context.Context, q request) (answer, error) {
	r.polls <- struct{}{}
	defer func() { <-r.polls }()
	return r.send(work, q)
}

// placeOf is the path at which a 202 can be polled, "" if the answer names none.
// Only the path is taken from the Location: a token goes to no other host.
func (r *run) placeOf(a answer) string {
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
