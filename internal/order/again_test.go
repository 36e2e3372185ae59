package order_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func TestIdempotencyKey_Repeated_ReturnsSameOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for name, between := range map[string]func(t *testing.T, c coupon.Coupon, o order.Order){
			"at once": func(*testing.T, coupon.Coupon, order.Order) {},
			"after the user cancelled": func(t *testing.T, _ coupon.Coupon, o order.Order) {
				_, err := s.Cancel(t.Context(), o.ID, o.UserID)
				require.NoError(t, err)
				_, err = s.Relay(t.Context())
				require.NoError(t, err)
			},
			"after it is sold out": func(t *testing.T, c coupon.Coupon, _ order.Order) {
				s.buy(t, c, 8, "")
				_, err := s.Place(t.Context(), wish(c, 9, ""))
				require.ErrorIs(t, err, coupon.ErrSoldOut)
			},
			"after the sale ended":          func(t *testing.T, c coupon.Coupon, _ order.Order) { s.end(t, c) },
			"while Redis has lost its data": func(t *testing.T, _ coupon.Coupon, _ order.Order) { s.flush(t) },
			"after Redis lost its data and was loaded again": func(t *testing.T, c coupon.Coupon, _ order.Order) {
				s.flush(t)
				s.reload(t, c)
			},
		} {
			for _, limit := range []int{1, 3} {
				t.Run(name, func(t *testing.T) {
					c := s.sell(t, 2, limit)
					first := s.buy(t, c, 7, name+key(limit))
					between(t, c, first)
					for range 2 {
						again := s.buy(t, c, 7, name+key(limit))
						require.Equal(t, first.ID, again.ID)
						require.Equal(t, first.RequestID, again.RequestID)
					}
					if name != "while Redis has lost its data" {
						report, err := s.auditor.Audit(t.Context(), c.ID)
						require.NoError(t, err)
						require.True(t, report.Clean && report.Settled, "%+v", report)
					}
				})
			}
		}
	})
}

func TestIdempotencyKey_Concurrent_MakesOneOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for _, limit := range []int{1, 3} {
			c := s.sell(t, 40, limit)
			instances := []*order.Service{s.Service, s.with(func(p *order.Deps) { p.Locker = s.locker(t, patient) })}
			made := map[int64]bool{}
			for _, a := range together(32, func(i int) (order.Order, error) {
				return instances[i%2].Place(t.Context(), wish(c, 7, key(limit)))
			}) {
				require.NoError(t, a.err)
				made[a.order.ID] = true
			}
			require.Len(t, made, 1)
			s.atRest(t, c, 1)
		}
	})
}

// A lock that lets everybody in changes nothing of it: the request id is unique.
func TestIdempotencyKey_NoLock_MakesOneOrder(t *testing.T) {
	s := open(t)
	instance := s.with(func(p *order.Deps) { p.Locker = admitAll{} })
	for _, limit := range []int{1, 3} {
		c := s.sell(t, 40, limit)
		made := map[int64]bool{}
		for _, a := range together(32, func(int) (order.Order, error) {
			return instance.Place(t.Context(), wish(c, 7, key(limit)))
		}) {
			if a.err == nil {
				made[a.order.ID] = true
			} else {
				require.ErrorIs(t, a.err, order.ErrUnavailable, "it met the others in the database")
			}
		}
		require.Len(t, made, 1)
		s.settled(t, c, 1)
	}
}

func TestIdempotencyKey_OtherRequest_IsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c, other := s.sell(t, 2, 1), s.sell(t, 2, 1)
		o := s.buy(t, c, 7, "k")
		_, err := s.Place(t.Context(), wish(other, 7, "k"))
		require.ErrorIs(t, err, order.ErrKeyReused, "another coupon")
		s.atRest(t, other, 0)
		s.end(t, other)
		_, err = s.Place(t.Context(), wish(other, 7, "k"))
		require.ErrorIs(t, err, order.ErrKeyReused, "and when it is refused anyway")

		require.NotEqual(t, o.ID, s.buy(t, c, 8, "k").ID, "the key of another user is another request")
		_, err = s.Place(t.Context(), wish(c, 7, "K"))
		require.ErrorIs(t, err, order.ErrLimitReached, "letters count as they are")
		_, err = s.Place(t.Context(), wish(c, 7, ""))
		require.ErrorIs(t, err, order.ErrLimitReached, "and without a key each request is new")
		s.atRest(t, c, 2)
	})
}

func TestIdempotencyKey_TwoCouponsAtOnce_BuysOne(t *testing.T) {
	s := open(t)
	c := []coupon.Coupon{s.sell(t, 9, 1), s.sell(t, 9, 1)}
	all := together(16, func(i int) (order.Order, error) { return s.Place(t.Context(), wish(c[i%2], 7, "k")) })
	bought := map[int64]int{}
	for _, a := range all {
		if a.err == nil {
			bought[a.order.CouponID]++
		} else {
			require.ErrorIs(t, a.err, order.ErrKeyReused)
		}
	}
	require.Len(t, bought, 1)
	for _, one := range c {
		s.settled(t, one, int64(min(1, bought[one.ID])))
	}
}

// A database that was set back lacks an order that Redis still knows. Until the epoch ends the
// request is not refused for ever, but to be asked again.
func TestPlace_OrderLostWithDatabase_CanBeRepeated(t *testing.T) {
	s := open(t)
	c := s.sell(t, 5, 1)
	o := s.buy(t, c, 7, "k")
	for _, statement := range []string{"DELETE FROM orders WHERE id = ?", "UPDATE coupons SET stock = stock + 1 WHERE id = ?"} {
		id := o.ID
		if statement[0] == 'U' {
			id = c.ID
		}
		_, err := s.raw.ExecContext(t.Context(), statement, id)
		require.NoError(t, err)
	}
	_, err := s.Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrUnavailable)
	s.reload(t, c)
	again := s.buy(t, c, 7, "k")
	require.NotEqual(t, o.ID, again.ID)
}

// The request has its unit, and the client has lost the answer. A refusal would be final, and the order would be made
// all the same.
func TestPlace_KeyOfAQueuedRequest_ShowsItWhateverRefusesOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for name, refuse := range map[string]func(t *testing.T, c coupon.Coupon, r *order.Request){
			"no refusal": func(*testing.T, coupon.Coupon, *order.Request) {},
			"sold out": func(t *testing.T, c coupon.Coupon, _ *order.Request) {
				_, err := s.Place(t.Context(), wish(c, 8, ""))
				require.ErrorIs(t, err, coupon.ErrSoldOut)
			},
			"ended": func(t *testing.T, c coupon.Coupon, _ *order.Request) { s.end(t, c) },
			"paused": func(t *testing.T, c coupon.Coupon, _ *order.Request) {
				_, err := s.coupons.Pause(t.Context(), c.ID)
				require.NoError(t, err)
			},
			"the token is over": func(_ *testing.T, c coupon.Coupon, r *order.Request) {
				r.Permit = order.Permit{BeginsAt: c.BeginsAt, Until: time.Unix(1, 0)}
			},
		} {
			for _, lent := range []bool{false, true} {
				t.Run(name+" "+strconv.FormatBool(lent), func(t *testing.T) {
					c := s.sell(t, 1, 1)
					user := last(c) // of a shard without a unit
					for !lent && coupon.Home(user, shards) != 0 {
						user++
					}
					r := wish(c, user, "k")
					here := s.queueing("here")
					o := queued(t, here, c, user, "k")
					refuse(t, c, &r)
					again, err := here.Place(t.Context(), r)
					require.NoError(t, err)
					require.Equal(t, order.Queued, again.Status)
					require.Equal(t, o.ID, again.ID)
				})
			}
		}
	})
}

func TestPlace_KeyOfARequestInProgress_IsBusyAndNotRefused(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 1, 1)
		reached, resume, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		goOn := sync.OnceFunc(func() { close(resume); <-done })
		t.Cleanup(goOn)
		there := s.with(func(p *order.Deps) { p.Committer = stopped{p.Committer, reached, resume} })
		var o order.Order
		var failed error
		go func() {
			defer close(done)
			o, failed = there.Place(t.Context(), wish(c, 7, "k"))
		}()
		<-reached
		_, err := s.Place(t.Context(), wish(c, 8, ""))
		require.ErrorIs(t, err, coupon.ErrSoldOut)
		_, err = s.Place(t.Context(), wish(c, 7, "k"))
		require.ErrorIs(t, err, order.ErrBusy)
		_, err = s.Place(t.Context(), wish(c, 7, "another"))
		require.ErrorIs(t, err, coupon.ErrSoldOut, "another request of the user")
		goOn()
		require.NoError(t, failed)
		require.Equal(t, o.ID, s.buy(t, c, 7, "k").ID)
	})
}

// stopped is a committer that waits before its first transaction.
type stopped struct {
	order.Committer
	reached, resume chan struct{}
}

func (s stopped) Place(ctx context.Context, all []*order.Attempt) {
	close(s.reached)
	<-s.resume
	s.Committer.Place(ctx, all)
}

// Without Redis it is not known whether the request has a unit.
func TestPlace_KeyIsRefusedAndRedisIsAway_IsUnavailable(t *testing.T) {
	s := open(t)
	c := s.sell(t, 1, 1)
	s.buy(t, c, 8, "")
	_, err := s.Place(t.Context(), wish(c, 9, ""))
	require.ErrorIs(t, err, coupon.ErrSoldOut)
	away := s.with(func(p *order.Deps) { p.Shards = forgetful{p.Shards} })
	_, err = away.Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrUnavailable)
	_, err = away.Place(t.Context(), wish(c, 7, ""))
	require.ErrorIs(t, err, coupon.ErrSoldOut)
}

// forgetful are shards that do not answer for requests.
type forgetful struct{ order.Shards }

func (forgetful) OrderOf(context.Context, coupon.Coupon, int64, string) (int64, error) {
	return 0, order.ErrUnavailable
}
