package rush

import (
	"fmt"
	"strings"
	"time"
)

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
	var onSale []string // the ids of live orders
	liveOf := map[int64][]string{}
	for _, a := range r.acks {
		if other, ok := first[a.id]; ok {
			f.duplicates++
			if other.user != a.user {
				r.violation("sold twice: order %s was given to user %d and to user %d", a.id, other.user, a.user)
			} else {
				r.violation("sold twice: order %s answers two different requests of user %d", a.id, a.user)
			}
			continue
		}
		first[a.id] = a
		if a.live(now) {
			liveOf[a.user] = append(liveOf[a.user], a.id)
			onSale = append(onSale, a.id)
		}
	}
	f.distinct = len(first)
	for user, ids := range liveOf {
		if over := len(ids) - r.sale.Limit; r.sale.Limit > 0 && over > 0 {
			f.duplicates += over
			r.violation("sold twice: user %d was given %d live orders, and the limit is %d: %s",
				user, len(ids), r.sale.Limit, listed(ids))
		}
	}
	if over := len(onSale) - r.stock; over > 0 {
		f.oversold = over
		r.violation("oversold: %d live orders were acknowledged for %d units: after the last unit came %s",
			len(onSale), r.stock, listed(onSale[max(0, r.stock):]))
	}
	return f
}

// mostListed bounds the order ids that one violation names.
const mostListed = 5

// listed names orders, the first mostListed of them.
func listed(ids []string) string {
	rest := ""
	if more := len(ids) - mostListed; more > 0 {
		ids, rest = ids[:mostListed], fmt.Sprintf(" and %d more", more)
	}
	return "order " + strings.Join(ids, ", ") + rest
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
