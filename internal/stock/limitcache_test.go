package stock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// limited is a cache whose clock stands, and the way to move it.
func limited() (f *limitCache, pass func(time.Duration)) {
	f = newLimitCache(longFlag)
	now := f.born
	f.now = func() time.Time { return now }
	return f, func(d time.Duration) { now = now.Add(d) }
}

// refused is a request of the user that was refused by the limit.
func refused(user int64, limit int) order.ReserveRequest {
	return order.ReserveRequest{CouponID: 1, UserID: user, Epoch: 3, Limit: limit}
}

func TestLimitCache_AfterItsTime_ForgetsBuyer(t *testing.T) {
	f, pass := limited()
	f.add(refused(7, 1), order.ErrLimitReached, f.question())
	pass(maxLimitedFor - 1)
	require.True(t, f.has(buyer{1, 7}, 3, 1))
	pass(1)
	require.False(t, f.has(buyer{1, 7}, 3, 1))
	f.add(refused(7, 1), order.ErrLimitReached, f.question())
	require.True(t, f.has(buyer{1, 7}, 3, 1), "refused again")
}

func TestLimitCache_Key_IsBuyerCouponEpochAndLimit(t *testing.T) {
	f, _ := limited()
	f.add(refused(7, 2), order.ErrLimitReached, f.question())
	f.add(refused(8, 2), order.ErrBusy, f.question())
	f.add(refused(9, 2), nil, f.question())
	for name, c := range map[string]struct {
		buyer
		epoch int64
		limit int
		want  bool
	}{
		"who was refused":             {buyer{1, 7}, 3, 2, true},
		"a lower limit":               {buyer{1, 7}, 3, 1, true},
		"a higher limit":              {buyer{1, 7}, 3, 3, false},
		"another epoch":               {buyer{1, 7}, 4, 2, false},
		"another coupon":              {buyer{2, 7}, 3, 2, false},
		"who was refused for another": {buyer{1, 8}, 3, 2, false},
		"who was not refused":         {buyer{1, 9}, 3, 2, false},
	} {
		require.Equal(t, c.want, f.has(c.buyer, c.epoch, c.limit), name)
	}
}

func TestLimitCache_AnswerPrecedesRestock_IsIgnored(t *testing.T) {
	f, _ := limited()
	before := f.question()
	f.remove(buyer{1, 7})
	f.add(refused(7, 1), order.ErrLimitReached, before)
	require.False(t, f.has(buyer{1, 7}, 3, 1))
	f.add(refused(7, 1), order.ErrLimitReached, f.question())
	require.True(t, f.has(buyer{1, 7}, 3, 1))
}

func TestLimitCache_ManyBuyers_IsBounded(t *testing.T) {
	f, _ := limited()
	for user := range int64(maxLimited + 10) {
		f.add(refused(user, 1), order.ErrLimitReached, f.question())
	}
	require.Len(t, f.entries, 10)
	require.True(t, f.has(buyer{1, maxLimited + 9}, 3, 1), "the last is remembered")
}

// Who is at the limit is refused without Redis by every instance that has asked it once, and by none once a unit of
// the buyer came back, wherever that was done.
func TestLimitCache_UnitReturned_ForgetsBuyer(t *testing.T) {
	for name, ask := range map[string]func(s *Stock, c order.ReserveRequest) error{
		"alone": func(s *Stock, c order.ReserveRequest) error { _, err := reserve(t.Context(), s, c); return err },
		"with others": func(s *Stock, c order.ReserveRequest) error {
			return s.Reserve(t.Context(), []order.ReserveRequest{c})[0].Err
		},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				s := open(t, dial(t, o), 8, 2)
				there := listen(t, s, dial(t, o))
				s.limited.ttl, there.limited.ttl = longFlag, longFlag
				sale := coupon.Coupon{ID: s.load.CouponID, Epoch: s.load.Epoch, LimitPerUser: 1}
				user, other := s.at(0, 0), s.at(0, 1)
				all := []order.Hold{s.buy(user), s.buy(other)}
				for _, h := range all {
					require.NoError(t, confirm(t.Context(), s, h))
				}
				for _, at := range []*Stock{s.Stock, there.Stock} {
					for _, u := range []int64{user, other} {
						require.False(t, at.LimitReached(sale, u))
						require.ErrorIs(t, ask(at, s.claim(u, s.request())), order.ErrLimitReached)
						require.True(t, at.LimitReached(sale, u))
					}
				}

				require.NoError(t, s.Restock(t.Context(), back(all[0])))
				require.False(t, s.LimitReached(sale, user), "at once where it came back")
				require.Eventually(t, func() bool { return !there.LimitReached(sale, user) }, time.Second, time.Millisecond)
				require.True(t, there.LimitReached(sale, other), "of others nothing came back")
				s.buy(user)
			})
		})
	}
}

// Another instance may hear late of a cancellation, or never: it refuses the buyer for no longer than its answer
// of Redis may be old, counted from the moment at which Redis was asked.
func TestLimitReached_CancelledElsewhereAndNotHeard_IsBounded(t *testing.T) {
	somewhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 8, 2)
		there := New(dial(t, o), Options{RefusalTTL: time.Second}) // it hears nothing
		now := time.Now()
		there.limited.now = func() time.Time { return now }
		user := s.at(0, 0)
		bought := s.buy(user)
		require.NoError(t, confirm(t.Context(), s, bought))
		_, err := reserve(t.Context(), there, s.claim(user, s.request()))
		require.ErrorIs(t, err, order.ErrLimitReached)
		sale := coupon.Coupon{ID: s.load.CouponID, Epoch: s.load.Epoch, LimitPerUser: 1}
		require.True(t, there.LimitReached(sale, user), "a tap that follows at once costs no answer of Redis")

		require.NoError(t, s.Restock(t.Context(), back(bought)))
		now = now.Add(maxLimitedFor)
		require.False(t, there.LimitReached(sale, user), "refused from memory for longer than the bound")
		_, err = reserve(t.Context(), there, s.claim(user, s.request()))
		require.NoError(t, err)
	})
}

func TestLimitReached_AnswerOnItsWayForLong_IsAsOldAsItsQuestion(t *testing.T) {
	f, pass := limited()
	asked := f.question()
	pass(maxLimitedFor)
	f.add(refused(7, 1), order.ErrLimitReached, asked)
	require.False(t, f.has(buyer{1, 7}, 3, 1))
}
