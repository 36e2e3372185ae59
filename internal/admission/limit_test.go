package admission_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/admission"
)

// crowd is so many at work, one order after the other, for so long.
func crowd(t *testing.T, a *admission.Admission, many int, last time.Duration, takes func() time.Duration) {
	t.Helper()
	until := time.Now().Add(last)
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			for time.Now().Before(until) {
				leave, err := a.Admit(t.Context())
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				time.Sleep(takes())
				leave(true)
			}
		})
	}
	all.Wait()
}

func TestAdaptiveLimit_OrderTimeChanges_FollowsInBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := admission.New(admission.Options{MinConcurrent: 10, MaxConcurrent: 30, MaxWaiting: 30, MaxWait: time.Hour})
		var mu sync.Mutex
		lowest := 30
		usual := func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			lowest = min(lowest, a.Limit())
			return 20 * time.Millisecond
		}
		crowd(t, a, 40, 3*time.Second, usual)
		require.GreaterOrEqual(t, a.Limit(), 25, "nothing has changed")

		began := time.Now()
		crowd(t, a, 40, 15*time.Second, func() time.Duration { // each second a third longer than the one before
			d := usual()
			for range int(time.Since(began) / time.Second) {
				d += d / 3
			}
			return d
		})
		require.Less(t, a.Limit(), 20)
		require.GreaterOrEqual(t, lowest, 10)
		crowd(t, a, 40, 20*time.Second, usual)
		require.Greater(t, a.Limit(), 25, "it is as fast as ever")
		require.LessOrEqual(t, a.Limit(), 30)
	})
}

// The crowd of the opening second comes after a quiet time.
func TestAdaptiveLimit_QuietTime_StaysUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := admission.New(admission.Options{MinConcurrent: 10, MaxConcurrent: 30, MaxWait: time.Second})
		crowd(t, a, 1, 2*time.Minute, func() time.Duration { return 20 * time.Millisecond })
		require.Equal(t, 30, a.Limit())
	})
}

// A refusal at the counter is quick, and says nothing of the database.
func TestAdaptiveLimit_RefusedOrder_DoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := admission.New(admission.Options{MinConcurrent: 10, MaxConcurrent: 100, MaxWaiting: 1, MaxWait: time.Second})
		order := func(took time.Duration, bought bool) {
			leave, err := a.Admit(t.Context())
			require.NoError(t, err)
			time.Sleep(took)
			leave(bought)
		}
		for range 2000 {
			order(10*time.Millisecond, true)
		}
		for range 2000 { // the times of the refused grow, as under a lock that is held
			order(40*time.Millisecond, false)
			order(10*time.Millisecond, true)
		}
		require.Equal(t, 100, a.Limit())
	})
}

func TestAdaptiveLimit_ConcurrentClients_StaysInBounds(t *testing.T) {
	const most, queue = 8, 16
	var refused atomic.Int64
	a := admission.New(admission.Options{
		MinConcurrent: 4, MaxConcurrent: most, MaxWaiting: queue, MaxWait: 2 * time.Millisecond, OnRefused: func(string) { refused.Add(1) },
	})
	var inside atomic.Int64
	outcomes := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 200 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(4000))*time.Microsecond)
				leave, err := a.Admit(ctx)
				if n := a.Waiting(); n > queue+64 { // those that are just about to be refused are counted for a moment
					t.Errorf("%d wait", n)
				}
				if err == nil {
					if n := inside.Add(1); n > most {
						t.Errorf("%d at once", n)
					}
					time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
					inside.Add(-1)
					leave(rand.IntN(2) == 0)
				}
				cancel()
				mu.Lock()
				outcomes[kind(err)]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Zero(t, a.InFlight()+a.Waiting())
	require.Equal(t, 64*200, outcomes["bought"]+outcomes["refused"]+outcomes["gone"], fmt.Sprint(outcomes))
	require.EqualValues(t, outcomes["refused"], refused.Load())
	require.Positive(t, outcomes["bought"])
	for range most { // all places can still be had
		_, err := a.Admit(t.Context())
		require.NoError(t, err)
	}
}
