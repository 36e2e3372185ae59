package rush

import "time"

// findings is what the generator's own record says about the server.
type findings struct {
	distinct   int // different orders that were acknowledged
	oversold   int // units certainly sold above the stock
	duplicates int // acknowledgements above what a user or an order may have
}

// checkRecord compares the answers given to the buyers with each other. It sends no
// request, so no state of the server can make the result look better.
func (r *run) checkRecord(now time.Time) findings {
	var f findings
	first := make(map[string]*ack, len(r.acks))
	live := make(map[int64]int, len(r.acks))
	onSale := 0
	for _, a := range r.acks {
		if other, ok := first[a.id]; ok {
			f.duplicates++
			if other.user != a.user {
				r.violation("order %s was given to user %d and to user %d", a.id, other.user, a.user)
			} else {
				r.violation("order %s answers two different requests of user %d", a.id, a.user)
			}
			continue
		}
		first[a.id] = a
		if a.live(now) {
			live[a.user]++
			onSale++
		}
	}
	f.distinct = len(first)
	for user, n := range live {
		if over := n - r.sale.Limit; r.sale.Limit > 0 && over > 0 {
			f.duplicates += over
			r.violation("user %d was given %d live orders, and the limit is %d", user, n, r.sale.Limit)
		}
	}
	if over := onSale - r.stock; over > 0 {
		f.oversold = over
		r.violation("oversold: %d live orders were acknowledged for %d units", onSale, r.stock)
	}
	return f
}

// unconfirmed counts the payments and cancellations without a clear answer. That
// is no fault by itself: an order may expire before it is paid.
func (r *run) unconfirmed() int {
	n := 0
	for _, a := range r.acks {
		if a.wantStatus != "" && !a.confirmed {
			n++
		}
	}
	return n
}
