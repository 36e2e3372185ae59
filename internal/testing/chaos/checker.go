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

// check compares the answers that the buyers got with the contents of the stores, after everything
// has come to rest.
//
//	202s to their end ─▶ rest ─▶ orders that no buyer knows of ─▶ read back ─▶ ask again
//	  ─▶ late buyers take the units that are left ─▶ rest ─▶ the last comparison
func (r *round) check(ctx context.Context) Result {
	var beside sync.WaitGroup
	beside.Go(func() { r.settleSmall(ctx) })
	t, settled := r.settle(ctx)
	beside.Wait()
	r.checkSmall(ctx)
	t = r.inspect(ctx, t)
	r.checkLockOrder(ctx)
	result := r.judge(ctx, t, settled)
	for _, s := range r.small {
		result.add(s.result)
	}
	return result
}

// settle follows every 202 to its end, and returns when nothing is on its way.
func (r *round) settle(ctx context.Context) (storeState, time.Duration) {
	r.endDoubts(ctx)
	return r.rest(ctx, r.doubted())
}

// inspect lets buyers ask for their orders again, and sells the units that are left. It returns the state of the stores
// after the sale.
func (r *round) inspect(ctx context.Context, t storeState) storeState {
	if !r.unsettled { // otherwise the round has failed already
		r.adopt(ctx, t)
	}
	r.readBack(ctx)
	if !r.unsettled {
		r.askAgain(ctx)
	}
	if r.env.kind != expiring && !r.unsettled {
		t, _ = r.rest(ctx, time.Now()) // buyers who asked again may have cancelled their new orders
		if t.stock > 0 {
			r.sellOut(ctx, t.stock)
			t, _ = r.rest(ctx, time.Now())
		}
		if t.stock > 0 {
			r.rec.problem("undersold: %d units are left, and buyers who would take them were refused", t.stock)
		}
	}
	return t
}

// judge compares a coupon that is at rest with the record of the answers, and retires it.
func (r *round) judge(ctx context.Context, t storeState, settled time.Duration) Result {
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

// doubted returns the start of the time in which everything must come to rest. It is the end of the last fault, or
// the last answer of 202 after it. An order whose hold is gone with an older epoch may be in doubt for this whole time.
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
		if a.status == http.StatusOK && !a.open() {
			r.ended(ctx, w, a)
			return
		}
		if a.status == http.StatusNotFound {
			if place = r.repeatLost(ctx, w); place == "" {
				return
			}
			last = time.Now().Add(r.bound)
			continue
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

// repeatLost repeats a request that the server has lost with Redis, with its key, as the contract says. It returns the
// place of the new 202, or "" if the request has ended.
func (r *round) repeatLost(ctx context.Context, w *purchase) (place string) {
	r.rec.mu.Lock()
	again := w.lost
	w.lost, w.place = true, ""
	r.rec.mu.Unlock()
	if again {
		r.rec.problem("user %d repeated a request that was not found, and its place is not found again", w.user)
		return ""
	}
	until := time.Now().Add(insistFor)
	if !r.insist(ctx, w, func() time.Time { return until }) {
		r.rec.problem("user %d repeated a request that was not found, and got no answer", w.user)
	}
	return r.rec.placeOf(w)
}

// rest blocks until the stores and the program's own audit show that nothing is on its way. It returns the state
// of the stores and the time since the given moment.
func (r *round) rest(ctx context.Context, since time.Time) (t storeState, took time.Duration) {
	for {
		var open error
		if t, open = r.env.readState(ctx, r.coupon); open == nil {
			if t.broken() != nil { // it will not recover: compare reports it
				r.unsettled = true
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
			r.unsettled = true
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

// drawOfLostOrders reports whether the only violation of an audit is a draw that lost orders with the database.
// Units may have come back in the lost history. Until an instance detects that the database was rolled back,
// these units go to the next ranks. After the detection, no unit may be left for the ranks that lost their orders.
func (r *round) drawOfLostOrders(a report) bool {
	return r.rec.wasSetBack() && len(a.Violations) == 1 && strings.HasPrefix(a.Violations[0], "I12:")
}

// adopt finds the orders that no buyer knows of, and repeats the purchase requests of their owners. The same
// key must lead to the order.
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

// soldOutFor is longer than the time for which an instance answers sold out from its cache.
const soldOutFor = 1500 * time.Millisecond

// sellOut sends new buyers for the units that are left. They ask for more units than there are, so no unit
// may be left after them.
func (r *round) sellOut(ctx context.Context, left int64) {
	for try := range 3 {
		if left == 0 {
			return
		}
		if try > 0 && !sleep(ctx, soldOutFor) { // the server may still refuse a unit that came back a moment ago
			return
		}
		late := &workload{client: r.client, rec: r.rec, coupon: r.coupon, once: true} // one request per buyer
		late.plan(r.rng, int(left)+8)
		for _, w := range late.wishes {
			w.lot = keeps
		}
		until := time.Now().Add(insistFor)
		late.run(ctx, late.wishes, nil, func() time.Time { return until })
		r.wishes = append(r.wishes, late.wishes...)
		r.endDoubts(ctx)
		t, _ := r.rest(ctx, time.Now())
		if r.unsettled {
			return // rest has reported it
		}
		left = t.stock
	}
}

// checkWhole reports each interruption of the sale by a fault that must not interrupt it.
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
	far := r.fault.farRedis || r.fault.farDatabase // where a busy machine may be slower than a commit may be
	for _, w := range r.wishes {
		if w.gone && (!far || !w.late) || w.lost {
			r.rec.problemLocked("a request of user %d was given up, and nothing was lost", w.user)
		}
	}
}

// compare checks the final state of the stores against the record of the answers.
func (r *round) compare(t storeState) Result {
	rec := r.rec
	rec.mu.Lock()
	defer rec.mu.Unlock()
	res := Result{
		Asked: rec.asked, Acknowledged: len(rec.byOrder), Committed: len(t.orders), Doubts: rec.doubts, Open: rec.open,
		Unanswered: rec.lost, Repeats: rec.repeats, Repeated: rec.repeated, Refused: rec.refused,
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

// complaints returns the last 15 lines of a log that are not at level INFO.
func complaints(log string) string {
	var all []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"level":"INFO"`) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return strings.Join(all[max(0, len(all)-15):], " | ")
}

// retire ends the coupon in the database, so that the background work ignores the coupon. Otherwise an environment
// would become slower with every round.
func (r *round) retire(ctx context.Context) {
	if _, err := r.env.db.ExecContext(ctx,
		`UPDATE coupons SET state = 'ended', begins_at = UTC_TIMESTAMP(3) - INTERVAL 4 DAY,
		ends_at = UTC_TIMESTAMP(3) - INTERVAL 3 DAY WHERE id = ?`, r.coupon); err != nil {
		r.rec.problem("retire the coupon: %v", err)
	}
}
