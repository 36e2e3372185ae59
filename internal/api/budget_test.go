package api

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

type budgetKey struct{}

func TestBudget_Deadline_EndsContext(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, b *budget, leave func()){
		"who waits is let go when the time is up": func(t *testing.T, b *budget, _ func()) {
			<-b.Done()
			require.ErrorIs(t, b.Err(), context.DeadlineExceeded)
			require.False(t, time.Now().Before(b.until))
		},
		"the time is up though nobody waits": func(t *testing.T, b *budget, _ func()) {
			require.NoError(t, b.Err())
			time.Sleep(time.Second)
			require.ErrorIs(t, b.Err(), context.DeadlineExceeded)
			<-b.Done()
			require.ErrorIs(t, context.Cause(b), context.DeadlineExceeded)
		},
		"who waits is let go when the client leaves": func(t *testing.T, b *budget, leave func()) {
			time.AfterFunc(time.Millisecond, leave)
			<-b.Done()
			require.ErrorIs(t, b.Err(), context.Canceled)
			require.True(t, time.Now().Before(b.until))
		},
		"the client has left though nobody waits": func(t *testing.T, b *budget, leave func()) {
			leave()
			require.ErrorIs(t, b.Err(), context.Canceled)
		},
		"who waits is let go when the request has ended": func(t *testing.T, b *budget, _ func()) {
			done := b.Done()
			b.end()
			<-done
			require.ErrorIs(t, b.Err(), context.Canceled)
		},
		"who begins to wait after that is let go": func(t *testing.T, b *budget, _ func()) {
			b.end()
			require.ErrorIs(t, b.Err(), context.Canceled)
			<-b.Done()
			require.ErrorIs(t, b.Err(), context.Canceled)
		},
		"what is derived from it ends with it and needs no goroutine": func(t *testing.T, b *budget, _ func()) {
			const many = 100 // beside which it does not count whose goroutines come and go elsewhere
			before := runtime.NumGoroutine()
			var child context.Context
			for range many {
				var cancel context.CancelFunc
				child, cancel = context.WithTimeout(b, time.Hour) //nolint:fatcontext // each is derived from b
				defer cancel()
			}
			require.Less(t, runtime.NumGoroutine(), before+many/2)
			until, _ := child.Deadline()
			require.Equal(t, b.until, until)
			b.end()
			require.ErrorIs(t, child.Err(), context.Canceled)
		},
		"it says what the request says": func(t *testing.T, b *budget, _ func()) {
			require.Equal(t, "value", b.Value(budgetKey{}))
			_ = b.Done()
			require.Equal(t, "value", b.Value(budgetKey{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				request, leave := context.WithCancel(context.WithValue(t.Context(), budgetKey{}, "value"))
				defer leave()
				b := &budget{request: request, until: time.Now().Add(time.Second)}
				defer b.end()
				test(t, b, leave)
			})
		})
	}
}

func TestBudget_LongerThanRequest_EndsWithRequest(t *testing.T) {
	request, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want, _ := request.Deadline()
	got, bounded := (&budget{request: request, until: time.Now().Add(time.Hour)}).Deadline()
	require.True(t, bounded)
	require.Equal(t, want, got)
}
