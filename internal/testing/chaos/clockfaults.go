package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/seckill/internal/testing/faults"
	"example.com/seckill/internal/tools/servers"
)

// clockFaults set the clock of one instance's machine wrong. The instance must report that it is not ready, and
// work that it still does must not happen too early. The clocks of Redis and the database are right.
func clockFaults() []Fault {
	return []Fault{
		{Name: "clock:seconds-apart", kind: expiring, harm: clockApart(6*time.Second, time.Minute)},
		{Name: "clock:minutes-apart", kind: expiring, harm: clockApart(time.Minute, time.Hour)},
	}
}

// toNotice is how long an instance may take to detect that its clock was set.
const toNotice = 10 * time.Second

func clockApart(least, most time.Duration) func(ctx context.Context, r *round) (bool, error) {
	return func(ctx context.Context, r *round) (bool, error) {
		i := r.env.fleet[r.rng.IntN(instances)]
		by := (least + time.Duration(r.rng.Int64N(int64(most-least)))).Round(time.Second)
		if r.rng.IntN(2) == 0 {
			by = -by
		}
		r.onTheWay(ctx, r.rng.IntN(60))
		if err := i.setClock(ctx, by); err != nil {
			return false, err
		}
		if said := i.readiness(ctx, http.StatusServiceUnavailable); !strings.Contains(said, "clocks are apart") {
			r.rec.problem("the clock of %s is %s ahead, and its readiness is %s", i.name, by, said)
		}
		// Buyers still call the instance: a load balancer takes some time to react.
		<-r.done
		_ = sleep(ctx, 4*workEvery) // the instance also expires orders
		if err := i.setClock(ctx, 0); err != nil {
			return false, err
		}
		if said := i.readiness(ctx, http.StatusOK); !strings.HasPrefix(said, "200") {
			r.rec.problem("the clock of %s is right again, and its readiness is %s", i.name, said)
		}
		return true, ctx.Err()
	}
}

func (i *instance) setClock(ctx context.Context, by time.Duration) error {
	_, err := i.tell(ctx, http.MethodPut, faults.ClockPath, by.String())
	return err
}

// readiness waits until the instance answers with the status want, for toNotice at most, and returns the last
// answer.
func (i *instance) readiness(ctx context.Context, want int) (said string) {
	for until := time.Now().Add(toNotice); time.Now().Before(until) && sleep(ctx, 20*time.Millisecond); {
		status, text, err := servers.Ask(ctx, admins, http.MethodGet, i.now().Admin+"/readyz", "", "")
		if err != nil {
			said = err.Error()
			continue
		}
		if said = fmt.Sprintf("%d: %s", status, text); status == want {
			return said
		}
	}
	return said
}

// untimely are the error codes of a request that comes at the wrong time, or with a token of another time.
var untimely = []string{"unauthenticated", "not_started", "ended"}

// checkTimes compares the time until which each order may be paid with the clock of the workload. If a clock is
// the only fault, it also reports requests that were given up or rejected as untimely. A busy machine has the
// same effect as a wrong clock, so checkTimes excuses a request whose answer was late: the server may have
// given up the request.
func (r *round) checkTimes() {
	if r.env.kind != expiring {
		return
	}
	const unsure = time.Second // answers take their time
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	for id, o := range r.rec.byOrder {
		if o.expires.Before(r.began.Add(payWithin-unsure)) || o.expires.After(o.first.Add(payWithin+unsure)) {
			r.rec.problemLocked("order %d was acknowledged at %s and may be paid until %s", id, o.first.UTC(), o.expires)
		}
	}
	if !strings.HasPrefix(r.fault.Name, "clock:") {
		return
	}
	for _, code := range untimely {
		if n := r.rec.refused[code]; n > 0 {
			r.rec.problemLocked("%d buyers were refused as %s, and nothing but a clock was wrong", n, code)
		}
	}
	if queues(r.env.mode) {
		return // a request that waits too long in a queue becomes void
	}
	for _, w := range r.wishes {
		if w.gone && !w.late {
			r.rec.problemLocked("a request of user %d was given up, and nothing but a clock was wrong", w.user)
		}
	}
}
