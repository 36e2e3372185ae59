package order_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// requested returns new orders of users, for one request each.
func requested(t *testing.T, s *order.Service, c coupon.Coupon, users ...int64) []order.Order {
	t.Helper()
	all := make([]order.Order, len(users))
	for i, user := range users {
		var err error
		all[i], err = s.NewOrder(t.Context(), c, user, "kept-"+strconv.FormatInt(user, 10))
		require.NoError(t, err)
	}
	return all
}

func TestEnqueue_ManyOrders_BecomeOneOrderPerRequest(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 10*shards, 1)
		here, elsewhere := s.queueing("here"), s.queueing("elsewhere")
		for _, one := range []*order.Service{here, elsewhere, here} { // each attempt has ids of its own
			for _, err := range one.Enqueue(t.Context(), c, requested(t, one, c, 1, 2, 3, 4, 5)) {
				require.NoError(t, err)
			}
		}
		require.NoError(t, here.Enqueue(t.Context(), c, requested(t, here, c, 3))[0])
		require.EqualValues(t, 5, s.waiting(t, c).Entries)
		consuming(t, s, s.drained(t, c), here, elsewhere)
		s.atRest(t, c, 5)
	})
}

func TestEnqueue_RequestIsQueuedAlready_KeepsWhatIsKnownOfIt(t *testing.T) {
	s := open(t)
	c := s.sell(t, 10*shards, 1)
	here := s.queueing("here")
	attempt := func() {
		for _, err := range here.Enqueue(t.Context(), c, requested(t, here, c, 1, 2)) {
			require.NoError(t, err)
		}
	}
	attempt()
	for _, h := range s.in.OpenHolds(t, c) {
		o, err := s.stock.Unresolved(t.Context(), h.OrderID)
		require.NoError(t, err)
		require.Equal(t, order.Queued, o.Status)
		o.Status = order.InDoubt // a worker has refused the entry
		require.NoError(t, s.stock.PutUnresolved(t.Context(), []order.Order{o})[0])
	}
	attempt()
	for _, h := range s.in.OpenHolds(t, c) {
		o, err := s.stock.Unresolved(t.Context(), h.OrderID)
		require.NoError(t, err)
		require.Equal(t, order.InDoubt, o.Status)
	}
}

func TestEnqueue_HomeShardIsEmpty_OnlyAnOrderByItselfBorrows(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		here := s.queueing("here")
		user := int64(1)
		home := coupon.Home(user, shards)
		neighbours := []int64{user}
		for len(neighbours) < 3 {
			if user++; coupon.Home(user, shards) == home {
				neighbours = append(neighbours, user)
			}
		}
		errs := here.Enqueue(t.Context(), c, requested(t, here, c, neighbours...))
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], order.ErrFallback)
		require.ErrorIs(t, errs[2], order.ErrFallback)
		for _, user := range neighbours[1:] {
			require.NoError(t, here.Enqueue(t.Context(), c, requested(t, here, c, user))[0])
		}
		consuming(t, s, s.drained(t, c), here)
		s.atRest(t, c, 3)
	})
}

func TestEnqueue_StepFails_NextAttemptEndsWithOneOrderPerRequest(t *testing.T) {
	for _, step := range []string{"before reserve", "after reserve", "before ticket", "after ticket"} {
		t.Run(step, func(t *testing.T) {
			s := open(t)
			c := s.sell(t, 10*shards, 1)
			f := failing(step)
			broken, here := s.queueing("broken", f.into), s.queueing("here")
			for _, err := range broken.Enqueue(t.Context(), c, requested(t, broken, c, 1, 2, 3)) {
				require.ErrorIs(t, err, order.ErrUnavailable)
			}
			for _, o := range requested(t, here, c, 1, 2, 3) {
				require.NoError(t, here.Enqueue(t.Context(), c, []order.Order{o})[0])
			}
			consuming(t, s, s.drained(t, c), here)
			s.atRest(t, c, 3)
		})
	}
}

func TestPlaceWith_StepAnswersItself_TakesNoUnit(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	var placed order.Order
	answer := func(ctx context.Context, sale coupon.Coupon, o order.Order) (order.Order, error) {
		require.Equal(t, c.ID, sale.ID)
		placed = o
		return o, nil
	}
	o, err := s.PlaceWith(t.Context(), wish(c, 7, "k"), answer)
	require.NoError(t, err)
	require.Equal(t, placed, o)
	s.atRest(t, c, 0)

	closed := func(ctx context.Context, _ coupon.Coupon, o order.Order) (order.Order, error) {
		return order.Order{}, order.ErrLimitReached
	}
	first, err := s.PlaceWith(t.Context(), wish(c, 7, "k"), s.Take)
	require.NoError(t, err)
	again, err := s.PlaceWith(t.Context(), wish(c, 7, "k"), closed)
	require.NoError(t, err, "the request has an order")
	require.Equal(t, first, again)
	_, err = s.PlaceWith(t.Context(), wish(c, 8, "k"), closed)
	require.ErrorIs(t, err, order.ErrLimitReached)
	s.end(t, c)
	_, err = s.PlaceWith(t.Context(), wish(c, 9, "k"), answer)
	require.ErrorIs(t, err, coupon.ErrEnded)
	s.atRest(t, c, 1)
}

func TestPlaceWith_StockWasLoadedAgain_RepeatsTheStep(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	calls := 0
	o, err := s.PlaceWith(t.Context(), wish(c, 7, ""), func(_ context.Context, _ coupon.Coupon, o order.Order) (order.Order, error) {
		if calls++; calls == 1 {
			return order.Order{}, order.ErrStaleEpoch
		}
		return o, nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.EqualValues(t, 7, o.UserID)
	s.atRest(t, c, 0)
}
