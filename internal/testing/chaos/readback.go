package chaos

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// readBack lets every owner look at the order that was acknowledged.
func (r *round) readBack(ctx context.Context) {
	each(r.rec.all(), func(o *acknowledged) {
		for last := time.Now().Add(insistFor); ; {
			a := r.ask(ctx, r.env.pick(), http.MethodGet, "/api/v1/orders/"+strconv.FormatInt(o.id, 10), o.wish.token, "", "")
			if r.rec.excuses(o, a) {
				return
			}
			if a.status == http.StatusOK && a.order.ID == strconv.FormatInt(o.id, 10) {
				if !r.rec.allows(o, a.order.Status, time.Now()) {
					r.rec.problem("order %d of user %d should be %s and reads %s", o.id, o.wish.user, o.want, a.order.Status)
				}
				return
			}
			if !a.again() || time.Now().After(last) || !sleep(ctx, 50*time.Millisecond) {
				r.rec.problem("lost: order %d of user %d was acknowledged and is answered %d: %s", o.id, o.wish.user, a.status, a.body)
				return
			}
		}
	})
}

// excuses reports whether that is what may be said of an order that was lost with the database.
func (r *record) excuses(o *acknowledged, a answer) bool {
	if a.status == http.StatusNotFound || a.order.Status == "abandoned" {
		return r.lostWithTheDatabase(o)
	}
	return a.status == http.StatusOK && r.replaced(o, a.order.ID)
}

// askedAgain is how many owners ask again with their key.
const askedAgain = 24

func (r *round) askAgain(ctx context.Context) {
	all := r.rec.all()
	var some []*acknowledged
	for n := range min(askedAgain, len(all)) {
		some = append(some, all[n*len(all)/min(askedAgain, len(all))])
	}
	until := time.Now().Add(insistFor)
	each(some, func(o *acknowledged) {
		if !r.insist(ctx, o.wish, func() time.Time { return until }) {
			r.rec.problem("order %d: asking again with the same key gets no answer", o.id)
		}
		if !r.rec.ledTo(o) && !r.rec.lostWithTheDatabase(o) {
			r.rec.problem("order %d: asking again with the same key does not lead to it", o.id)
		}
	})
}

// each does something for all, for as many at once as there are lanes of buyers.
func each[T any](all []T, do func(one T)) {
	lanes := make(chan struct{}, buyersAtOnce)
	var busy sync.WaitGroup
	for _, one := range all {
		lanes <- struct{}{}
		busy.Go(func() {
			defer func() { <-lanes }()
			do(one)
		})
	}
	busy.Wait()
}
