package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// check compares what the buyers were told with what the stores hold, when everything
// has come to rest.
//
//	202s to their end ─▶ rest ─▶ orders that no buyer knows of ─▶ read back ─▶ ask again
//	  ─▶ late buyers take what is left ─▶ rest ─▶ the last look
func (r *round) check(ctx context.Context) Result {
	r.endDoubts(ctx)
	t, settled := r.rest(ctx, r.doubted())
	if settled <= r.bound { // otherwise it is broken, and that is enough
		r.adopt(ctx, t)
	}
	r.readBack(ctx)
	if settled <= r.bound {
		r.askAgain(ctx)
	}
	if r.env.kind != expiring && settled <= r.bound {
		t, _ = r.rest(ctx, time.Now()) // buyers who were asked again may have cancelled what came of it
		r.sellOut(ctx, t.stock)
		t, _ = r.rest(ctx, time.Now())
		if t.stock > 0 {
			r.rec.problem("undersold: %d units are left, and buyers who would take them were refused", t.stock)
		}
	}
	r.checkLockOrder(ctx)
	r.checkTimes()
	r.checkWhole(t)
	r.checkRaise(t)
	result := r.compare(t)
	result.Settled = settled
	r.retire(ctx)
	return result
}

// endDoubts follows every 202 to its end.
func (r *round) endDoubts(ctx context.Context) {
	var all sync.WaitGroup
	for _, w := range r.wishes {
		if w.place != "" {
			all.Go(func() { r.endDoubt(ctx, w) })
		}
	}
	all.Wait()
}

// doubted returns when the time began in which everything must come to rest: with the end of the last fault, or
// with the last answer of 202 after it. An order whose hold is gone with an older epoch may be in doubt for all of it.
func (r *round) doubted() time.Time {
	last := r.rec.healed
	for _, w := range r.wishes {
		if w.told.After(last) {
			last = w.told
		}
	}
	return last
}

func (r *round) endDoubt(ctx context.Context, w *purchase) {
	place := w.place
	for last := r.doubted().Add(r.bound); ; {
		a := r.ask(ctx, r.env.pick(), http.MethodGet, place, w.token, "", "")
		if a.status == http.StatusNotFound || a.status == http.StatusOK && !a.open() {
			r.ended(ctx, w, a)
			return
		}
		if time.Now().After(last) {
			r.rec.problem("user %d was answered 202, and %s after that and the last fault %s is neither an order nor a refusal (%d %s)",
				w.user, r.bound, place, a.status, a.order.Status)
			return
		}
		if !sleep(ctx, 50*time.Millisecond) {
			return
		}
	}
}

// rest waits until nothing is on its way, by the stores and by the program's own
// audit, and says how long it took.
func (r *round) rest(ctx context.Context, since time.Time) (t storeState, took time.Duration) {
	for {
		var open error
		if t, open = r.env.readState(ctx, r.coupon); open == nil {
			if t.broken() != nil { // it will not mend: compare tells
				return t, max(time.Since(since), r.bound+1)
			}
			open = t.rest()
		}
		if open == nil && r.env.kind == expiring && t.pending() > 0 {
			open = fmt.Errorf("%d orders have not expired", t.pending())
		}
		if open == nil {
			open = r.audited(ctx)
		}
		took = time.Since(since)
		if open == nil {
			return t, took
		}
		if took > r.bound || ctx.Err() != nil {
			r.rec.problem("not settled %s after the last fault: %v", r.bound, open)
			return t, took
		}
		_ = sleep(ctx, 40*time.Millisecond)
	}
}

func (r *round) audited(ctx context.Context) error {
	var a report
	path := "/api/v1/admin/coupons/" + r.coupon + "/audit"
	got := r.ask(ctx, r.env.pick(), http.MethodGet, path, r.token(1, "admin"), "", "")
	if got.status != http.StatusOK {
		return fmt.Errorf("the audit was answered %d: %s", got.status, got.body)
	}
	if err := json.Unmarshal(got.body, &a); err != nil {
		return fmt.Errorf("read the audit: %w", err)
	}
	if (a.Clean || r.drawOfLostOrders(a)) && a.Settled {
		return nil
	}
	return errors.New("audit: " + a.String())
}

// drawOfLostOrders reports whether all that an audit finds is a draw that has lost orders with the database:
// until an instance notices that it was set back, units that came back in the lost history go to the next
// ranks, and when it was noticed none may be left for the ranks whose orders were lost.
func (r *round) drawOfLostOrders(a report) bool {
	return r.rec.wasSetBack() && len(a.Violations) == 1 && strings.HasPrefix(a.Violations[0], "I12:")
}

// adopt asks again for every owner of an order who was not told of it: the same key
// must lead to it.
func (r *round) adopt(ctx context.Context, t storeState) {
	strangers := map[int64]bool{}
	for id, o := range t.orders {
		if _, known := r.rec.byOrder[id]; !known {
			strangers[o.user] = true
		}
	}
	if len(strangers) == 0 {
		return
	}
	until := time.Now().Add(insistFor)
	for _, w := range r.wishes {
		if strangers[w.user] {
			r.insist(ctx, w, func() time.Time { return until })
		}
	}
	for id, o := range t.orders {
		if _, known := r.rec.byOrder[id]; !known {
			r.rec.problem("order %d of user %d is %s, and no request of the user leads to it", id, o.user, o.status)
		}
	}
}

// soldOutFor is longer than an instance that has seen all shards empty says so without looking.
const soldOutFor = 1500 * time.Millisecond

// sellOut lets new buyers come for what is left: with demand for more, nothing may stay.
func (r *round) sellOut(ctx context.Context, left int64) {
	for try := range 3 {
		if left == 0 {
			return
		}
		if try > 0 && !sleep(ctx, soldOutFor) { // what came back a moment ago may still be refused
			return
		}
		late := &workload{client: r.client, rec: r.rec, coupon: r.coupon, once: true} // as many buyers as taps
		late.plan(r.rng, int(left)+8)
		for _, w := range late.wishes {
			w.lot = keeps
		}
		until := time.Now().Add(insistFor)
		late.run(ctx, late.wishes, nil, func() time.Time { return until })
		r.wishes = append(r.wishes, late.wishes...)
		r.endDoubts(ctx)
		t, settled := r.rest(ctx, time.Now())
		if settled > r.bound {
			return // and rest has said so
		}
		left = t.stock
	}
}

// checkWhole holds what was to go on against what did.
func (r *round) checkWhole(t storeState) {
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	for _, closed := range r.closed.problems() {
		r.rec.problemLocked("%s", closed)
	}
	if !r.fault.whole {
		return
	}
	if t.epoch != r.epoch {
		r.rec.problemLocked("the epoch was %d and is %d, and nothing was lost", r.epoch, t.epoch)
	}
	for _, w := range r.wishes {
		if w.gone {
			r.rec.problemLocked("a request of user %d was given up, and nothing was lost", w.user)
		}
	}
}

// compare holds the last look at the stores against the record.
func (r *round) compare(t storeState) Result {
	rec := r.rec
	rec.mu.Lock()
	defer rec.mu.Unlock()
	res := Result{
		Asked: rec.asked, Acknowledged: len(rec.byOrder), Committed: len(t.orders), Doubts: rec.doubts, Open: rec.open,
		Unanswered: rec.lost, Repeats: rec.repeats, Refused: rec.refused,
		Oversold: int(max(0, t.live()-t.total)), AboveLimit: t.above(), Leaked: int(max(t.stock-t.units, t.units-t.stock)),
		Slowest: rec.slowest,
	}
	now := time.Now()
	for id, o := range rec.byOrder {
		switch row, there := t.orders[id]; {
		case !there && rec.undone(o):
			res.Undone++
		case !there || row.user != o.wish.user:
			res.Lost++
			rec.problemLocked("lost: order %d of user %d was acknowledged and is not in the database", id, o.wish.user)
		case !rec.allows(o, row.status, now):
			res.Lost++
			rec.problemLocked("lost: order %d of user %d should be %s and is %s", id, o.wish.user, o.want, row.status)
		}
	}
	if broken := t.broken(); broken != nil {
		rec.problemLocked("%v", broken)
	}
	if t.negative {
		rec.problemLocked("a shard is below 0")
	}
	for _, broken := range []struct {
		n    int
		what string
	}{{res.Oversold, "oversold"}, {res.AboveLimit, "above the limit"}, {res.Leaked, "leaked"}} {
		if broken.n > 0 {
			rec.problemLocked("%d %s", broken.n, broken.what)
		}
	}
	if !rec.first.IsZero() {
		res.Recovered = rec.first.Sub(rec.healed)
	}
	if r.again > 0 && res.Recovered > r.again {
		rec.problemLocked("it sells again after %s, and should within %s", res.Recovered, r.again)
	}
	res.Problems = slices.Clone(rec.problems)
	if len(res.Problems) > 0 {
		for _, i := range r.env.fleet {
			res.Logs = append(res.Logs, i.name+": "+complaints(i.now().Log()))
		}
	}
	return res
}

// complaints are the last lines of a log that are no mere information.
func complaints(log string) string {
	var all []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"level":"INFO"`) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return strings.Join(all[max(0, len(all)-15):], " | ")
}

// retire takes the coupon out of the background work, so that an environment does not become
// slower with every round.
func (r *round) retire(ctx context.Context) {
	if _, err := r.env.db.ExecContext(ctx,
		`UPDATE coupons SET state = 'ended', begins_at = UTC_TIMESTAMP(3) - INTERVAL 4 DAY,
		ends_at = UTC_TIMESTAMP(3) - INTERVAL 3 DAY WHERE id = ?`, r.coupon); err != nil {
		r.rec.problem("retire the coupon: %v", err)
	}
}
