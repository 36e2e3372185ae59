package lab

import (
	"context"
	"math/rand/v2"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/tools/lab/harness"
)

// testSale is a coupon whose units are in this program's own shards.
type testSale struct {
	*stock.Stock
	b      *Run
	coupon int64
	shards int
}

// epoch is the epoch of the first loading.
const epoch = 1

// newSale loads units into shards under an id that no coupon of the server has.
func newSale(run *Run, units int64, shards int) testSale {
	name := 1<<62 + rand.Int64N(1<<61) //nolint:gosec // a name, not a secret
	s := testSale{stock.New(run.Redis(), stock.Options{RefusalTTL: time.Hour}), run, name, shards}
	run.Must(s.Load(run.Ctx(), coupon.Load{CouponID: s.coupon, Epoch: epoch, Shards: shards, Units: units}))
	run.OnStop(func() { run.Forget("seckill:{" + id(s.coupon) + ":*") })
	return s
}

// through returns the same stock over another connection.
func (s testSale) through(addr string) *stock.Stock {
	return stock.New(s.b.Client(addr), stock.Options{RefusalTTL: time.Hour})
}

// claim returns a reservation request of a user.
func (s testSale) claim(user int64, request string) order.ReserveRequest {
	return order.ReserveRequest{
		CouponID: s.coupon, UserID: user, RequestID: request, OrderID: rand.Int64N(1 << 40), //nolint:gosec // a name, not a secret
		Limit: 1, Epoch: epoch, Shards: s.shards, Alone: true,
	}
}

// left returns the number of units in all shards.
func (s testSale) left() (sum int64) {
	units, err := s.Remaining(s.b.Ctx(), s.coupon, s.shards)
	s.b.Must(err)
	for _, n := range units {
		sum += n
	}
	return sum
}

// buy reserves and confirms one unit.
func (s testSale) buy(ctx context.Context, user int64) error {
	got := s.Reserve(ctx, []order.ReserveRequest{s.claim(user, "r"+id(user))})[0]
	if got.Err != nil {
		return got.Err
	}
	return s.Confirm(ctx, []order.Hold{got.Hold})[0]
}

// buys is the step in which a user buys from this program's shards.
func (s testSale) buys(a *Actor, user int64) error {
	return a.Do(harness.Redis, harness.Write, "RESERVE for user "+id(user), func(step *Step) error {
		err := s.buy(step.Ctx, user)
		if step.Note("sold"); err != nil {
			step.Note("%v", err)
		}
		return err
	})
}
