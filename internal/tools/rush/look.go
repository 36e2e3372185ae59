package rush

import (
	"context"
	"net/http"
)

// looked is what a look is counted under, among the refusals: it ends a tap without an order.
const looked = "looked"

// look asks for the coupon once.
func (r *run) look(work context.Context, t tap) {
	a, err := r.send(work, request{method: http.MethodGet, path: r.prefix + "/api/v1/coupons/" + r.Coupon})
	switch {
	case err != nil:
		r.countFailure(errorName(err))
	case a.status == http.StatusOK:
		r.countRefusal(looked, r.arrival(t))
	default:
		r.giveUp(t, classifyRefusal(a))
	}
}
