package designs

import (
	"context"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// expiredLease has a lock whose lease is shorter than the work under load.
//
// Wrong twice: the lease ends while the first request waits for the database, so the second request of the user gets
// the lock. When the first request is done, it deletes the key without a look at the owner, and so removes the lock of
// the second. On an idle machine the work takes a tenth of the lease, and no test finds the fault. The stock is right,
// because the conditional update decides about it.
//
// A lease is often chosen once, by the time that the work takes on the developer's machine. Martin Kleppmann describes
// the consequence, and Redis' own page about locks warns of the delete without a token.
//
// The experiments longer-than-lease and delete-anothers-lock of the lab show both faults step by step.
var expiredLease = Design{
	Name: "expired-lease", Violates: "I3", Experiment: "longer-than-lease",
	Source: "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html",
	make:   func(s *stores) maker { return leaseMaker{s} },
}

type leaseMaker struct{ *stores }

// tooShort is the lease. The work takes less than a millisecond without load.
const tooShort = 5 * time.Millisecond

// Make waits for the user's lock, sells, and deletes the lock's key.
func (m leaseMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	l := m.lockOf(o)
	if err := l.lock(ctx, tooShort); err != nil {
		return err
	}
	defer l.remove(ctx) // of any holder
	return m.sell(ctx, sale, o)
}
