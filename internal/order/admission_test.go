package order_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/admission"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Who is refused because there are too many costs nothing, with a key too, and what it
// had from before is not asked of the database either.
func TestPlace_AdmissionRejects_TouchesNoStore(t *testing.T) {
	s := open(t)
	c := s.sell(t, 2, 1)
	for _, key := range []string{"", "k"} {
		f := failing("before admit")
		_, err := s.with(f.into).Place(t.Context(), wish(c, 7, key))
		require.ErrorIs(t, err, order.ErrOverloaded)
		require.Equal(t, []string{"before admit"}, f.seen)
	}
	s.atRest(t, c, 0)
	s.buy(t, c, 7, "k")
	s.atRest(t, c, 1)
}

// A place is given back whatever becomes of the order.
func TestAdmission_AnyStepFails_ReleasesPermit(t *testing.T) {
	s := openSingle(t)
	for _, step := range []string{"before id", "before reserve", "before lock", "before begin", "after insert", "before commit", "after commit"} {
		t.Run(step, func(t *testing.T) {
			c := s.sell(t, shards, 1)
			one := admission.New(admission.Options{MinConcurrent: 1, MaxConcurrent: 1})
			let := func(p *order.Deps) { p.Admission = one }
			_, _ = s.with(func(p *order.Deps) { let(p); failing(step).into(p) }).Place(t.Context(), wish(c, 7, ""))
			require.Zero(t, one.InFlight())
			s.runOut(t, 7)
			_, err := s.with(let).Place(t.Context(), wish(c, 8, ""))
			require.NoError(t, err)
		})
	}
}

// A crowd comes to an instance that makes four orders at once and lets four wait. Each
// asks until it is told something final.
func TestPlace_RefusedBuyersReturn_SellsExactlyTheStock(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		const units, buyers = 40, 120
		c := s.sell(t, units, 1)
		few := admission.New(admission.Options{MinConcurrent: 2, MaxConcurrent: 4, MaxWaiting: 4, MaxWait: 20 * time.Millisecond})
		instance := s.with(func(p *order.Deps) { p.Admission = few })
		var mu sync.Mutex
		told := map[string]int{}
		var crowd sync.WaitGroup
		for user := int64(1); user <= buyers; user++ {
			crowd.Go(func() {
				for {
					_, err := instance.Place(t.Context(), wish(c, user, key(int(user))))
					mu.Lock()
					switch {
					case err == nil:
						told["bought"]++
					case errors.Is(err, coupon.ErrSoldOut):
						told["sold out"]++
					case errors.Is(err, order.ErrOverloaded):
						told["overloaded"]++
					default:
						t.Errorf("user %d: %v", user, err)
					}
					mu.Unlock()
					if !errors.Is(err, order.ErrOverloaded) {
						return
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		crowd.Wait()
		require.Equal(t, units, told["bought"])
		require.Equal(t, buyers-units, told["sold out"])
		require.Positive(t, told["overloaded"])
		require.Zero(t, few.InFlight()+few.Waiting())
		s.atRest(t, c, units)
	})
}

// Nothing was taken for a client that went away while it waited.
func TestPlace_BuyerLeavesWhileWaiting_TakesNothing(t *testing.T) {
	s := open(t)
	c := s.sell(t, 2, 1)
	one := admission.New(admission.Options{MinConcurrent: 1, MaxConcurrent: 1, MaxWaiting: 1, MaxWait: patient})
	instance := s.with(func(p *order.Deps) { p.Admission = one })
	leave, err := one.Admit(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := instance.Place(ctx, wish(c, 7, ""))
		gone <- err
	}()
	require.Eventually(t, func() bool { return one.Waiting() == 1 }, patient, soon)
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.Zero(t, one.Waiting())
	leave(false)
	s.atRest(t, c, 0)
	_, err = instance.Place(t.Context(), wish(c, 7, ""))
	require.NoError(t, err)
}
