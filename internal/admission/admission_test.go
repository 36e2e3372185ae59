package admission_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/internal/admission"
	"seckill/internal/order"
)

// door is an Admission whose places are all taken, by the test.
type door struct {
	*admission.Admission
	why     []string // of each refusal
	inside  []func(bool)
	outside chan error // of each that came
}

func full(t *testing.T, o admission.Options) *door {
	t.Helper()
	d := &door{outside: make(chan error, 100)}
	o.OnRefused = func(why string) { d.why = append(d.why, why) }
	d.Admission = admission.New(o)
	for range o.MaxConcurrent {
		leave, err := d.Admit(t.Context())
		require.NoError(t, err)
		d.inside = append(d.inside, leave)
	}
	return d
}

// come is one more, who stays inside if it is let in.
func (d *door) come(ctx context.Context) {
	go func() {
		_, err := d.Admit(ctx)
		d.outside <- err
	}()
	synctest.Wait()
}

func TestAsManyAsTheLimitAreAtWorkSomeWaitAndTheRestIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := full(t, admission.Options{MinConcurrent: 1, MaxConcurrent: 3, MaxWaiting: 2, MaxWait: time.Second})
		for range 5 {
			d.come(t.Context())
		}
		require.Equal(t, []int{3, 3, 2}, []int{d.Limit(), d.InFlight(), d.Waiting()})
		require.Len(t, d.outside, 3, "who finds no room is told at once")
		for range 3 {
			require.ErrorIs(t, <-d.outside, order.ErrOverloaded)
		}
		require.Equal(t, []string{admission.Full, admission.Full, admission.Full}, d.why)

		for _, leave := range d.inside {
			leave(true)
		}
		synctest.Wait()
		require.NoError(t, errors.Join(<-d.outside, <-d.outside), "who waited has the places now")
		require.Equal(t, []int{2, 0}, []int{d.InFlight(), d.Waiting()})
	})
}

func TestWhoCameFirstIsServedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := full(t, admission.Options{MinConcurrent: 1, MaxConcurrent: 1, MaxWaiting: 10, MaxWait: time.Hour})
		var served []int
		for n := range 10 {
			go func() {
				leave, err := d.Admit(t.Context())
				if err == nil {
					served = append(served, n)
					leave(true)
				}
			}()
			synctest.Wait()
		}
		d.inside[0](true)
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, served)
	})
}

func TestNobodyWaitsLongerThanTheOptionsAndItsOwnTimeAllow(t *testing.T) {
	for name, tc := range map[string]struct {
		left, waits time.Duration
		why         string
	}{
		"without a deadline":         {0, 500 * time.Millisecond, admission.Waited},
		"with all of its time":       {3 * time.Second, 500 * time.Millisecond, admission.Waited},
		"with a part of it":          {900 * time.Millisecond, 150 * time.Millisecond, admission.Waited},
		"with just what is needed":   {750 * time.Millisecond, 0, admission.Late},
		"with less than that":        {700 * time.Millisecond, 0, admission.Late},
		"when its time has run out":  {-time.Second, 0, admission.Late},
		"with a little more than it": {751 * time.Millisecond, time.Millisecond, admission.Waited},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := full(t, admission.Options{MinConcurrent: 1, MaxConcurrent: 1, MaxWaiting: 1, MaxWait: 500 * time.Millisecond, MinBudget: 750 * time.Millisecond})
				ctx := t.Context()
				if tc.left != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithDeadline(ctx, time.Now().Add(tc.left))
					defer cancel()
				}
				came := time.Now()
				d.come(ctx)
				require.ErrorIs(t, <-d.outside, order.ErrOverloaded)
				require.Equal(t, tc.waits, time.Since(came))
				require.Equal(t, []string{tc.why}, d.why)
				require.Zero(t, d.Waiting())
			})
		})
	}
}

func TestAnOrderForWhichTooLittleTimeIsLeftIsNotBegunThoughThereIsAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := admission.New(admission.Options{MinConcurrent: 1, MaxConcurrent: 9, MaxWaiting: 9, MaxWait: time.Second, MinBudget: 750 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		leave, err := a.Admit(ctx)
		require.NoError(t, err)
		leave(true)
		time.Sleep(250 * time.Millisecond)
		_, err = a.Admit(ctx)
		require.ErrorIs(t, err, order.ErrOverloaded)
		require.Zero(t, a.InFlight())
	})
}

func TestAClientThatGoesLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := full(t, admission.Options{MinConcurrent: 1, MaxConcurrent: 1, MaxWaiting: 2, MaxWait: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		d.come(ctx)
		d.come(t.Context())
		cancel()
		require.ErrorIs(t, <-d.outside, context.Canceled)
		require.Equal(t, 1, d.Waiting())
		require.Empty(t, d.why, "nobody refused it")
		d.come(t.Context()) // there is room again
		require.Equal(t, 2, d.Waiting())
		d.inside[0](true)
		synctest.Wait()
		require.NoError(t, <-d.outside)
		require.Equal(t, []int{1, 1}, []int{d.InFlight(), d.Waiting()})
		d.come(canceled(t))
		require.ErrorIs(t, <-d.outside, context.Canceled)
		for d.Waiting() > 0 { // until the last one has waited for as long as it may
			time.Sleep(time.Minute)
		}
	})
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestAPlaceThatComesAsItsClientGoesIsNotLost(t *testing.T) {
	for range 100 { // either may be seen first
		synctest.Test(t, func(t *testing.T) {
			d := full(t, admission.Options{MinConcurrent: 1, MaxConcurrent: 1, MaxWaiting: 1, MaxWait: time.Hour})
			ctx, cancel := context.WithCancel(t.Context())
			d.come(ctx)
			d.inside[0](true)
			cancel()
			if err := <-d.outside; err != nil { // it may have had its place before it went
				require.ErrorIs(t, err, context.Canceled)
				require.Zero(t, d.InFlight())
			}
		})
	}
}

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

func TestTheLimitFollowsTheTimeThatOrdersTakeWithinItsBounds(t *testing.T) {
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
func TestAQuietTimeDoesNotLowerTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := admission.New(admission.Options{MinConcurrent: 10, MaxConcurrent: 30, MaxWait: time.Second})
		crowd(t, a, 1, 2*time.Minute, func() time.Duration { return 20 * time.Millisecond })
		require.Equal(t, 30, a.Limit())
	})
}

// A refusal at the counter is quick, and says nothing of the database.
func TestTheTimeOfWhoDidNotBuyDoesNotCount(t *testing.T) {
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
		for range 2000 { // the times of the refused grow, as under a lock that somebody holds
			order(40*time.Millisecond, false)
			order(10*time.Millisecond, true)
		}
		require.Equal(t, 100, a.Limit())
	})
}

func TestManyWhoComeAndGoNeverExceedTheBounds(t *testing.T) {
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

func kind(err error) string {
	switch {
	case err == nil:
		return "bought"
	case errors.Is(err, order.ErrOverloaded):
		return "refused"
	case slices.ContainsFunc([]error{context.Canceled, context.DeadlineExceeded}, func(e error) bool { return errors.Is(err, e) }):
		return "gone"
	}
	return err.Error()
}
