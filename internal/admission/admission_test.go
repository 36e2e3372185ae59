package admission_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/admission"
	"example.com/seckill/internal/order"
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
	var mu sync.Mutex
	o.OnRefused = func(why string) {
		mu.Lock()
		defer mu.Unlock()
		d.why = append(d.why, why)
	}
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

func TestAdmission_AboveLimit_QueuesThenRejectsAtOnce(t *testing.T) {
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

func TestAdmission_SeveralWaiters_AdmitsInArrivalOrder(t *testing.T) {
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

func TestAdmission_WaitExceedsOptionOrBudget_Rejects(t *testing.T) {
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

func TestAdmission_TooLittleTimeLeft_RejectsDespiteFreeSlot(t *testing.T) {
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

func TestAdmission_QueuedClientGoes_LeavesQueue(t *testing.T) {
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

func TestAdmission_SlotFreedAsClientGoes_IsNotLost(t *testing.T) {
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
