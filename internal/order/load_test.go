package order_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/nolock"
	"example.com/seckill/internal/order"
)

// everybody is a lock that lets everybody in, those of the same process too.
type admitAll struct{}

func (admitAll) Do(ctx context.Context, key string, work func(context.Context, *lock.Lease) error, opts ...lock.Option) error {
	l, err := lock.New(nolock.Backend{}, lock.Options{Lease: time.Hour})
	if err != nil {
		return err
	}
	return errors.Join(l.Do(ctx, key, work, opts...), l.Close(context.WithoutCancel(ctx)))
}

func (admitAll) DoMany(ctx context.Context, keys []string, work func(context.Context, []*lock.Lease) []error, opts ...lock.Option) []error {
	l, err := lock.New(nolock.Backend{}, lock.Options{Lease: time.Hour})
	if err != nil {
		return slices.Repeat([]error{err}, len(keys))
	}
	defer func() { _ = l.Close(context.WithoutCancel(ctx)) }()
	return l.DoMany(ctx, keys, work, opts...)
}

func (admitAll) AdvanceFence(context.Context, string, uint64) error { return nil }

// 200 requests of 20 users meet in every step at once. What keeps them apart then
// is the shards' account of each buyer, the fence, the slot and the conditional
// update; here each of the first and the last is on its own too.
func TestPlace_LockAdmitsAll_NeverOversells(t *testing.T) {
	const users, units = 20, 15
	for name, alter := range map[string]func(p *order.Deps){
		"with the shards' account":    func(*order.Deps) {},
		"without the shards' account": func(p *order.Deps) { p.Shards = generous{p.Shards} },
	} {
		for _, limit := range []int{1, 2} {
			t.Run(name, func(t *testing.T) {
				onEach(t, func(t *testing.T, s *shop) {
					c := s.sell(t, units, limit)
					instance := s.with(func(p *order.Deps) {
						p.Locker = admitAll{}
						alter(p)
					})
					live := map[int64]int{}
					for _, a := range together(200, func(i int) (order.Order, error) {
						return instance.Place(t.Context(), wish(c, int64(i%users), ""))
					}) {
						if a.err == nil {
							live[a.order.UserID]++
							continue
						}
						refused := errors.Is(a.err, order.ErrLimitReached) || errors.Is(a.err, order.ErrBusy) ||
							errors.Is(a.err, order.ErrUnavailable) || errors.Is(a.err, coupon.ErrSoldOut)
						require.True(t, refused, "%v", a.err)
					}
					sold := int64(0)
					for user, n := range live {
						require.LessOrEqual(t, n, limit, "user %d", user)
						sold += int64(n)
					}
					s.settled(t, c, sold) // every 201 has its row, and there is no other

					// Nothing is stuck either: those who ask again get what is left.
					for user := range int64(users) {
						_, _ = s.Place(t.Context(), wish(c, user, ""))
					}
					report := s.atRest(t, c, units)
					require.Zero(t, report.Stock)
				})
			})
		}
	}
}

// generous asks the shards with no limit per user.
type generous struct{ order.Shards }

func (s generous) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	for i := range requests {
		requests[i].Limit = 1000
	}
	return s.Shards.Reserve(ctx, requests)
}

// With the lock and patience everybody who may have a unit gets one.
func TestPlace_ConcurrentBuyers_SellAllUnits(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 15, 1)
		sold, out := 0, 0
		for _, a := range together(60, func(i int) (order.Order, error) {
			return s.Place(t.Context(), wish(c, int64(i%30), key(i)))
		}) {
			switch {
			case a.err == nil:
				sold++
			case errors.Is(a.err, coupon.ErrSoldOut):
				out++
			default:
				require.True(t, errors.Is(a.err, order.ErrBusy) || errors.Is(a.err, order.ErrLimitReached), "%v", a.err)
			}
		}
		require.Equal(t, 15, sold)
		require.Positive(t, out)
		s.atRest(t, c, 15)
	})
}
