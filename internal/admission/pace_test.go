package admission_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/admission"
	"example.com/seckill/internal/order"
)

// TestAdmission_ManyRejections_ReturnsAtLimitedRate rejects more requests than it answers at once. It answers
// the others at the limited rate, and all of them within five seconds.
func TestAdmission_ManyRejections_ReturnsAtLimitedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		atOnce, perSecond := 128*runtime.GOMAXPROCS(0), 500*runtime.GOMAXPROCS(0)
		d := full(t, admission.Options{MinConcurrent: 1, MaxConcurrent: 1, MaxWaiting: 0, MaxWait: time.Second})
		d.outside = make(chan error, 10*perSecond)
		for range atOnce {
			d.come(t.Context())
		}
		require.Len(t, d.outside, atOnce, "a few are told at once")

		crowd, goes := context.WithCancel(t.Context())
		defer goes()
		for range 8 * perSecond {
			go func() {
				_, err := d.Admit(crowd)
				d.outside <- err
			}()
		}
		synctest.Wait()
		require.Len(t, d.outside, atOnce, "the rest is held")
		time.Sleep(time.Second)
		synctest.Wait()
		require.InDelta(t, atOnce+perSecond, len(d.outside), 2, "so many a second")
		time.Sleep(4 * time.Second)
		synctest.Wait()
		require.Len(t, d.outside, atOnce+8*perSecond, "and nobody is held for longer than that")
		for range atOnce + 8*perSecond {
			require.ErrorIs(t, <-d.outside, order.ErrOverloaded)
		}

		time.Sleep(time.Second)
		d.come(t.Context())
		require.Len(t, d.outside, 1, "nothing of the crowd is left")
	})
}

// The test ends the request of a client while Admit holds its rejection.
func TestAdmission_HeldClientDisconnects_ReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := full(t, admission.Options{MinConcurrent: 1, MaxConcurrent: 1, MaxWaiting: 0, MaxWait: time.Second})
		d.outside = make(chan error, 1000*runtime.GOMAXPROCS(0))
		for range 600 * runtime.GOMAXPROCS(0) {
			go func() { _, err := d.Admit(t.Context()); d.outside <- err }()
		}
		synctest.Wait()
		told := len(d.outside)
		client, goes := context.WithCancel(t.Context())
		d.come(client)
		require.Len(t, d.outside, told)
		goes()
		synctest.Wait()
		require.Len(t, d.outside, told+1)
		time.Sleep(5 * time.Second) // until all of them are told
	})
}

// A request waits in the queue until Admit rejects it, and Admit then holds its rejection.
func TestAdmission_HeldRejection_FreesQueuePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd := 1000 * runtime.GOMAXPROCS(0)
		d := full(t, admission.Options{MinConcurrent: 1, MaxConcurrent: 1, MaxWaiting: 1, MaxWait: time.Second})
		d.outside = make(chan error, 2*crowd+2)
		d.come(t.Context())
		require.Equal(t, 1, d.Waiting())
		time.Sleep(time.Second - time.Millisecond)
		for range 2 * crowd {
			go func() { _, err := d.Admit(t.Context()); d.outside <- err }()
		}
		synctest.Wait()
		told := len(d.outside)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Less(t, len(d.outside), told+10, "it is held, too")
		require.Zero(t, d.Waiting())
		d.come(t.Context())
		require.Equal(t, 1, d.Waiting())
		d.inside[0](true)
		synctest.Wait()
		require.Equal(t, 1, d.InFlight())
		time.Sleep(5 * time.Second) // until all of them are told
	})
}
