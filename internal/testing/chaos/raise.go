package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// raise is that the administrator puts more units on sale while the crowd buys.
type raise struct {
	to    int64 // units in all; 0: the stock stays as it is
	after int   // the percentage of the first units that is sold before
	told  bool  // it was answered 200
}

// planRaise draws the raise of a round. Every second round raises its stock, and each with a
// fault at a raise. The earlier build of an upgrade may not know how.
func planRaise(fault Fault, rng *rand.Rand, stock int) raise {
	after, more, raises := rng.IntN(110), 1+rng.IntN(max(1, stock/4)), rng.IntN(2) == 0
	atRaise := strings.HasPrefix(fault.Name, "raise.")
	if fault.kind == upgraded || !raises && !atRaise {
		return raise{}
	}
	return raise{to: int64(stock + more), after: min(after, 100)}
}

// raiseStock asks for the larger stock until there is an answer that stands. The stock is given as a whole, so
// that asking again adds nothing twice.
func (r *round) raiseStock(ctx context.Context) {
	if r.raise.to == 0 {
		return
	}
	r.onTheWay(ctx, r.raise.after)
	path, body := "/api/v1/admin/coupons/"+r.coupon, fmt.Sprintf(`{"stock":%d}`, r.raise.to)
	for ctx.Err() == nil {
		switch a := r.ask(ctx, r.env.pick(), http.MethodPatch, path, r.token(1, "admin"), "", body); {
		case a.status == http.StatusOK:
			r.raise.told = true
			return
		case !a.again():
			r.rec.problem("the stock could not be raised to %d: %d %s", r.raise.to, a.status, a.body)
			return
		case time.Now().After(r.until()):
			return
		}
		_ = sleep(ctx, 25*time.Millisecond)
	}
}

// checkRaise compares the stock with the answer that the administrator got. A database that was set back may have
// lost it.
func (r *round) checkRaise(t storeState) {
	if r.raise.told && t.total != r.raise.to && !r.rec.wasSetBack() {
		r.rec.problem("the stock was raised to %d and is %d", r.raise.to, t.total)
	}
}
