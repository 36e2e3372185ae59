package apptest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// QueueDeps returns what another instance is made of, which answers before the commit. Its workers take over from
// another instance at once, and do not wait for a lock.
func (s *Shop) QueueDeps(name string) order.Deps {
	p := s.Deps
	p.Queue, p.QueueCapacity, p.HeldPolls = s.Stock.Queue(name, 0), 1000, 16
	p.Locker = brisk{p.Locker}
	return p
}

// brisk does not wait for a lock.
type brisk struct{ order.Locker }

func (b brisk) Do(ctx context.Context, key string, work func(context.Context, *lock.Lease) error, opts ...lock.Option) error {
	return b.Locker.Do(ctx, key, work, append(opts, lock.WithWait(0))...)
}

// MaxAge is the age at which Consume refuses an entry: no entry gets so old by itself while a test is patient.
const MaxAge = 3 * Patient

// Consume lets instances work on the queues until the function says so, and at most for twice as
// long as a test is patient: a draw has hundreds of winners.
func (s *Shop) Consume(t testing.TB, until func() bool, all ...*order.Service) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(func() {
			one.RunWorkers(ctx, order.WorkerConfig{
				Loaded: func(ctx context.Context) ([]coupon.Coupon, error) { return s.DB.Coupons().Loaded(ctx, time.Now()) },
				MaxAge: MaxAge, AttemptTimeout: Patient, Concurrency: 32,
			})
		})
	}
	defer running.Wait()
	defer stop()
	require.Eventually(t, until, 2*Patient, 10*time.Millisecond)
}

// Waiting returns how full the queues of a coupon are.
func (s *Shop) Waiting(t testing.TB, c coupon.Coupon) order.QueueStats {
	w, err := s.Stock.Queues(context.Background(), c.ID, Shards)
	require.NoError(t, err)
	return w
}

// Drained reports whether nothing is left in the queues of the coupon.
func (s *Shop) Drained(t testing.TB, c coupon.Coupon) func() bool {
	return func() bool { return s.Waiting(t, c).Entries == 0 }
}
