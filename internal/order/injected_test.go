package order_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/failpoint"
	"example.com/seckill/internal/testing/testservers"
)

// scene is a coupon of its own, with what an operation finds there.
type scene struct {
	s    *shop
	c    coupon.Coupon
	user int64
	had  order.Order // the order that there is from before, if there is one
}

func (x *scene) wish() order.Request { return wish(x.c, x.user, "k") }

// operation is one operation of an instance on its stores. After a fault, another instance with working stores runs
// after, which repeats the operation.
type operation struct {
	given func(t *testing.T, x *scene)
	do    func(ctx context.Context, x *scene, one *apptest.Shop) (order.Order, error)
	after func(t *testing.T, x *scene, told answer)
	calls int // at the least, so that not all of it is broken in nothing
}

func place(ctx context.Context, x *scene, one *apptest.Shop) (order.Order, error) {
	return one.Service.Place(ctx, x.wish())
}

func reconcile(ctx context.Context, x *scene, one *apptest.Shop) (order.Order, error) {
	_, err := one.Reconciler.Reconcile(ctx, x.c, 0)
	return order.Order{}, err
}

func reload(ctx context.Context, x *scene, one *apptest.Shop) (order.Order, error) {
	_, err := one.Coupons.Reload(ctx, x.c.ID)
	return order.Order{}, err
}

func units(n int64) func(*testing.T, *scene) {
	return func(t *testing.T, x *scene) {
		t.Helper()
		x.c = x.s.sell(t, n, 1)
		x.user = last(x.c) // the last shard is the first to have no unit
	}
}

func bought(t *testing.T, x *scene) {
	t.Helper()
	units(shards)(t, x)
	x.had = x.s.buy(t, x.c, x.user, "k")
}

func left(units int64, steps ...string) func(*testing.T, *scene) {
	return func(t *testing.T, x *scene) {
		t.Helper()
		x.c = x.s.sell(t, units, 1)
		x.user = last(x.c)
		x.had, _ = x.s.with(failing(steps...).into).Place(t.Context(), x.wish())
		x.s.runOut(t, x.user)
	}
}

var operations = map[string]operation{
	"place":              {units(shards), place, placed, 7},
	"place that borrows": {units(shards - 1), place, placed, 13},
	"place again":        {bought, place, kept(nil), 2},
	"place above the limit": {bought, func(ctx context.Context, x *scene, one *apptest.Shop) (order.Order, error) {
		return one.Service.Place(ctx, wish(x.c, x.user, "another"))
	}, kept(order.ErrLimitReached), 2},
	"place when all is sold": {func(t *testing.T, x *scene) {
		units(1)(t, x)
		x.had = x.s.buy(t, x.c, x.user+1, "k")
	}, place, kept(coupon.ErrSoldOut), 2},
	"pay": {bought, func(ctx context.Context, x *scene, one *apptest.Shop) (order.Order, error) {
		return one.Service.Pay(ctx, x.had.ID, x.user)
	}, moved(order.Paid, 1), 4},
	"cancel": {bought, func(ctx context.Context, x *scene, one *apptest.Shop) (order.Order, error) {
		return one.Service.Cancel(ctx, x.had.ID, x.user)
	}, moved(order.Cancelled, 0), 9},
	"expire": {bought, func(ctx context.Context, x *scene, one *apptest.Shop) (order.Order, error) {
		x.s.later(2 * paymentTimeout)
		_, err := one.Reconciler.Expire(ctx)
		return order.Order{}, err
	}, expired, 6},
	"reconcile a hold":               {left(shards, "after reserve"), reconcile, reconciledAs(0), 5},
	"reconcile a lent hold":          {left(shards-1, "after reserve"), reconcile, reconciledAs(0), 8},
	"reconcile the hold of an order": {left(shards, "before confirm"), reconcile, reconciledAs(1), 5},
	"relay": {func(t *testing.T, x *scene) {
		bought(t, x)
		_, err := x.s.with(failing("before return").into).Cancel(t.Context(), x.had.ID, x.user)
		require.NoError(t, err)
	}, func(ctx context.Context, _ *scene, one *apptest.Shop) (order.Order, error) {
		_, err := one.Reconciler.Relay(ctx)
		return order.Order{}, err
	}, reconciledAs(0), 4},
	"load":               {bought, reload, opened, 15},
	"load what was lost": {lost, reload, opened, 15},
}

// The test breaks each call of an operation to Redis or to the database, in every possible way. After each fault a
// repeated request gets the same answer. After the background work every invariant holds.
func TestOperations_AnyStoreCallFails_StateStaysConsistent(t *testing.T) {
	for _, name := range testservers.Sample(t, 3, slices.Sorted(maps.Keys(operations))) {
		t.Run(name, func(t *testing.T) {
			op, s := operations[name], open(t)
			wire := &failpoint.Injector{}
			one := s.in.Another(t, wire)
			for _, way := range slices.Sorted(maps.Keys(failpoint.Failures)) {
				for n, hit := 1, "yes"; hit != ""; n++ {
					hit = op.broken(t, s, one, wire, n, way)
					require.True(t, hit != "" || n > op.calls, "it makes %d calls alone", n-1)
				}
			}
		})
	}
}

// broken runs the operation with a fault at its n-th call. It returns the name of the call, or "" if the operation
// makes fewer calls.
func (op operation) broken(t *testing.T, s *shop, one *apptest.Shop, wire *failpoint.Injector, n int, way string) (hit string) {
	t.Helper()
	x := &scene{s: s}
	op.given(t, x)
	defer s.later(0)
	defer func() {
		if t.Failed() {
			t.Logf("broken: call %d, %s: %s", n, way, hit)
		}
	}()
	var told answer
	ctx := wire.Arm(t.Context(), n, failpoint.Failures[way])
	told.order, told.err = op.do(ctx, x, one)
	hit = wire.Heal()
	one.Answering(t)
	if hit == "" && told.err != nil {
		require.NotErrorIs(t, told.err, order.ErrUnavailable, "nothing was broken")
	}
	s.runOut(t, x.user)
	op.after(t, x, told)
	require.NoError(t, s.redis.FlushAll(t.Context()).Err()) // the next one is alone
	return hit
}

// rest does the background work and requires the given number of live orders.
func (x *scene) rest(t *testing.T, live int64) {
	t.Helper()
	report := x.s.settled(t, x.c, live)
	require.Equal(t, report.Stock, report.Redis, "R = D")
	require.Equal(t, x.c.Total-live, report.Redis)
}

// fault requires an error that claims nothing: a store is unavailable, or the outcome is unknown.
func fault(t *testing.T, err error) {
	t.Helper()
	require.True(t, errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrCommitUnknown), "%v", err)
}

// placed requires at most one order of the request. It is the order of the answer, and every later answer has it.
func placed(t *testing.T, x *scene, told answer) {
	t.Helper()
	again, err := x.s.Place(t.Context(), x.wish())
	// The unit may be a sibling's, or the outcome still open. The reconciler ends both.
	if errors.Is(err, order.ErrBusy) || errors.Is(err, order.ErrCommitUnknown) {
		_, err = x.s.Reconcile(t.Context(), x.c, 0)
		require.NoError(t, err)
		again, err = x.s.Place(t.Context(), x.wish())
	}
	live := int64(1)
	if err != nil {
		require.ErrorIs(t, err, order.ErrVoided, "asked again after %v", told.err)
		live = 0
	}
	switch {
	case told.err == nil:
		require.NoError(t, err, "it was told to have the order")
		require.Equal(t, told.order, again)
	case errors.Is(told.err, order.ErrVoided):
		require.ErrorIs(t, err, order.ErrVoided)
	default:
		fault(t, told.err)
	}
	x.rest(t, live)
	once, err := x.s.Place(t.Context(), x.wish())
	if live == 0 {
		require.ErrorIs(t, err, order.ErrVoided)
	} else {
		require.NoError(t, err)
		require.Equal(t, again.ID, once.ID)
	}
	if errors.Is(told.err, order.ErrCommitUnknown) {
		o, err := x.s.Get(t.Context(), told.order.ID, x.user)
		require.NoError(t, err, "it was told where to ask")
		require.Equal(t, live == 1, o.Status.Live(), "%+v", o)
		require.NotEqual(t, order.InDoubt, o.Status)
	}
}

// kept requires that the earlier order is the only one. The answer is that order or the refusal.
func kept(refusal error) func(*testing.T, *scene, answer) {
	return func(t *testing.T, x *scene, told answer) {
		t.Helper()
		switch {
		case told.err == nil:
			require.NoError(t, refusal, "nothing may be had")
			require.Equal(t, x.had.ID, told.order.ID)
		case refusal == nil || !errors.Is(told.err, refusal):
			fault(t, told.err)
		}
		x.rest(t, 1)
	}
}

// moved requires that a repeated request returns the requested state.
func moved(to order.Status, live int64) func(*testing.T, *scene, answer) {
	return func(t *testing.T, x *scene, told answer) {
		t.Helper()
		if told.err != nil {
			fault(t, told.err)
		} else {
			require.Equal(t, to, told.order.Status)
		}
		ask := x.s.Cancel
		if to == order.Paid {
			ask = x.s.Pay
		}
		again, err := ask(t.Context(), x.had.ID, x.user)
		require.NoError(t, err)
		require.Equal(t, to, again.Status)
		x.rest(t, live)
	}
}

func expired(t *testing.T, x *scene, told answer) {
	t.Helper()
	// Expire passes over the order while the server still has the transaction of a
	// connection that was cut.
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, err := x.s.Expire(context.Background())
		assert.NoError(t, err)
		o, err := x.s.Get(context.Background(), x.had.ID, x.user)
		assert.NoError(t, err)
		assert.Equal(t, order.Expired, o.Status, "after %v", told.err)
	}, 10*time.Second, time.Millisecond)
	x.rest(t, 0)
}

func reconciledAs(live int64) func(*testing.T, *scene, answer) {
	return func(t *testing.T, x *scene, _ answer) {
		t.Helper()
		x.rest(t, live)
	}
}

func lost(t *testing.T, x *scene) {
	t.Helper()
	bought(t, x)
	x.s.flush(t)
}

// opened requires that an interrupted loading leaves the sale closed or unchanged. No user gets a unit that does not
// exist, and the next publication opens the sale.
func opened(t *testing.T, x *scene, told answer) {
	t.Helper()
	fresh, err := x.s.coupons.Read(t.Context(), x.c.ID)
	require.NoError(t, err)
	if told.err == nil {
		require.Equal(t, coupon.OnSale, fresh.State)
		x.rest(t, 1)
	}
	live := int64(1)
	x.s.in.Deps.Sales.Invalidate(x.c.ID)
	if _, err := x.s.Place(t.Context(), wish(x.c, x.user+1, "k")); err == nil {
		live++
	} else {
		require.ErrorIs(t, err, coupon.ErrNotLoaded)
	}
	_, err = x.s.coupons.Publish(t.Context(), x.c.ID)
	require.NoError(t, err)
	x.rest(t, live)
	again, err := x.s.Place(t.Context(), x.wish())
	require.NoError(t, err)
	require.Equal(t, x.had.ID, again.ID)
}
