package order_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

// queueing is another instance, which answers before the commit.
func (s *shop) queueing(name string, alter ...func(p *order.Deps)) *order.Service {
	p := s.in.QueueDeps(name)
	for _, a := range alter {
		a(&p)
	}
	return order.NewService(p)
}

// maxAge is the age at which an entry is refused.
const maxAge = apptest.MaxAge

// consuming lets instances work on the queues until the function says so.
func consuming(t *testing.T, s *shop, until func() bool, all ...*order.Service) {
	t.Helper()
	s.in.Consume(t, until, all...)
}

// drained reports whether nothing is left in the queues of the coupon.
func (s *shop) drained(t *testing.T, c coupon.Coupon) func() bool { return s.in.Drained(t, c) }

func (s *shop) waiting(t *testing.T, c coupon.Coupon) order.QueueStats {
	t.Helper()
	return s.in.Waiting(t, c)
}

func queued(t *testing.T, s *order.Service, c coupon.Coupon, user int64, key string) order.Order {
	t.Helper()
	o, err := s.Place(t.Context(), wish(c, user, key))
	require.NoError(t, err)
	require.Equal(t, order.Queued, o.Status)
	return o
}

func TestQueue_Request_HasPositionThenAnOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		here, elsewhere := s.queueing("here"), s.queueing("elsewhere")
		o := queued(t, here, c, 7, "k")
		for _, instance := range []*order.Service{here, elsewhere, s.Service} {
			shown, err := instance.Get(t.Context(), o.ID, 7)
			require.NoError(t, err)
			require.Equal(t, o, shown)
			_, err = instance.Get(t.Context(), o.ID, 8)
			require.ErrorIs(t, err, order.ErrNotFound, "somebody else's")
		}
		report, err := s.auditor.Audit(t.Context(), c.ID)
		require.NoError(t, err)
		require.True(t, report.Clean, report.Violations)
		require.EqualValues(t, 1, report.Holds, "h includes what is queued")

		consuming(t, s, s.drained(t, c), elsewhere)
		shown, err := here.Get(t.Context(), o.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Pending, shown.Status)
		require.Equal(t, o.CreatedAt, shown.CreatedAt)
		again, err := here.Place(t.Context(), wish(c, 7, "k"))
		require.NoError(t, err)
		require.Equal(t, shown, again, "the same order, however often")
		s.atRest(t, c, 1)
	})
}

func TestQueue_RepeatedWhileQueued_IsOneHoldAndEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 5)
		one, other := s.queueing("one"), s.queueing("other")
		first := queued(t, one, c, 7, "k")
		for _, instance := range []*order.Service{one, other, one} {
			require.Equal(t, first, queued(t, instance, c, 7, "k"))
		}
		require.EqualValues(t, 1, s.waiting(t, c).Entries)
		consuming(t, s, s.drained(t, c), one, other)
		s.atRest(t, c, 1)
	})
}

func TestQueue_Position_MovesUp(t *testing.T) {
	s := open(t)
	c := s.sell(t, 40, 9)
	here := s.queueing("here")
	var mine []order.Order
	for n := range 3 {
		mine = append(mine, queued(t, here, c, 7, strconv.Itoa(n)))
		require.EqualValues(t, n, mine[n].Position.Ahead, "told at once")
	}
	shown, err := here.Get(t.Context(), mine[2].ID, 7)
	require.NoError(t, err)
	require.EqualValues(t, 2, shown.Position.Ahead)
	entries, err := s.stock.Queue("x", 0).Next(t.Context(), c, 4)
	require.NoError(t, err)
	require.Len(t, entries, 1, "as many as are asked for, of all shards")
	require.NoError(t, s.stock.Queue("x", 0).Ack(t.Context(), entries[0]))
	shown, err = here.Get(t.Context(), mine[2].ID, 7)
	require.NoError(t, err)
	require.EqualValues(t, 1, shown.Position.Ahead)
}

func TestQueue_ConcurrentBuyers_SellExactlyTheStock(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		const units, users = 60, 200
		c := s.sell(t, units, 1)
		one, other := s.queueing("one"), s.queueing("other")
		var asked []answer
		done := make(chan struct{})
		go func() {
			defer close(done)
			asked = together(users, func(i int) (order.Order, error) {
				instance := one
				if i%2 == 0 {
					instance = other
				}
				return instance.Place(context.Background(), wish(c, int64(i+1), "k"))
			})
		}()
		consuming(t, s, func() bool {
			select {
			case <-done:
				return s.drained(t, c)()
			default:
				return false
			}
		}, one, other)
		accepted := 0
		for i, a := range asked {
			if a.err != nil {
				require.True(t, errors.Is(a.err, coupon.ErrSoldOut) || errors.Is(a.err, order.ErrBusy), "%v", a.err)
				continue
			}
			accepted++
			o, err := one.Get(t.Context(), a.order.ID, int64(i+1))
			require.NoError(t, err)
			require.Equal(t, order.Pending, o.Status)
		}
		require.LessOrEqual(t, accepted, units)
		s.settled(t, c, int64(accepted))
	})
}

// Between the refusal and the release of its hold the request is known to Redis, and its
// ticket with it: that is no order.
func TestQueue_RepeatedDuringRefusal_IsNotAnOrder(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	asked := errors.New("nobody asked")
	f := &faults{plan: map[string]func(){"before release": func() {
		_, asked = s.queueing("other").Place(t.Context(), wish(c, 7, "k"))
	}}}
	here := s.queueing("here", f.into)
	queued(t, here, c, 7, "k")
	s.later(maxAge)
	defer s.later(0)
	consuming(t, s, s.drained(t, c), here)
	require.ErrorIs(t, asked, order.ErrVoided)
	s.atRest(t, c, 0)
}

// A request in doubt that is asked for again is in doubt, until a row says otherwise.
func TestQueue_RepeatedInDoubt_StaysInDoubt(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	o, err := s.with(failing("before commit", "before void").into).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrCommitUnknown)
	again, err := s.queueing("here").Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrCommitUnknown)
	require.Equal(t, o.ID, again.ID)
	require.Equal(t, order.InDoubt, again.Status)
}

func TestQueue_Reload_RefusesQueuedRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		here := s.queueing("here")
		o := queued(t, here, c, 7, "k")
		given, err := s.stock.Queue("slow", 0).Next(t.Context(), c, 16)
		require.NoError(t, err)
		c = s.reload(t, c)
		require.Zero(t, s.waiting(t, c).Entries)
		require.Eventually(t, func() bool {
			shown, err := here.Get(t.Context(), o.ID, 7)
			return err == nil && shown.Status == order.Void
		}, patient, soon)
		require.NoError(t, s.stock.Queue("slow", 0).Ack(t.Context(), given[0]), "a late acknowledgement")
		s.atRest(t, c, 0)
		other := queued(t, here, c, 7, "another key")
		consuming(t, s, s.drained(t, c), here)
		shown, err := here.Get(t.Context(), other.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Pending, shown.Status)
		s.atRest(t, c, 1)
	})
}

func TestPlace_QueueFull_ReturnsErrOverloaded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 40, 9)
		here := s.queueing("here", func(p *order.Deps) { p.QueueCapacity = 2 })
		for n := range 2 {
			queued(t, here, c, 7, strconv.Itoa(n))
		}
		_, err := here.Place(t.Context(), wish(c, 7, "2"))
		require.ErrorIs(t, err, order.ErrOverloaded)
		consuming(t, s, s.drained(t, c), here)
		s.atRest(t, c, 2)
	})
}

// The unit's entry is where the unit is from, in one step with it.
func TestQueue_LentUnit_IsQueuedAtLender(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 2)
		here := s.queueing("here")
		first, second := queued(t, here, c, 7, "first"), queued(t, here, c, 7, "second")
		require.Equal(t, coupon.Home(7, shards), first.Shard)
		require.NotEqual(t, first.Shard, second.Shard)
		waiting, err := s.stock.QueuedOrders(t.Context(), c.ID, second.Shard)
		require.NoError(t, err)
		require.Equal(t, map[int64]bool{second.ID: true}, waiting)
		require.EqualValues(t, 2, s.waiting(t, c).Entries)
		consuming(t, s, s.drained(t, c), here)
		s.atRest(t, c, 2)
	})
}

func TestQueue_LenderFull_IsNotSoldOut(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards*2, 9)
	here, full := s.queueing("here"), s.queueing("full", func(p *order.Deps) { p.QueueCapacity = 0 })
	for n := range 2 {
		queued(t, here, c, 7, strconv.Itoa(n))
	}
	_, err := full.Place(t.Context(), wish(c, 7, "another"))
	require.ErrorIs(t, err, order.ErrOverloaded)
	consuming(t, s, s.drained(t, c), here)
	s.atRest(t, c, 2)
}
