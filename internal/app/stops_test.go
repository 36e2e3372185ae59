package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The clock is the bubble's.
func TestStopAll_StopThatHangs_LeavesTheOthersTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var order []string
		takes := func(name string, d time.Duration) func(context.Context) error {
			return func(ctx context.Context) error {
				order = append(order, name)
				select {
				case <-time.After(d):
					return nil
				case <-ctx.Done():
					return errors.New(name + " took too long")
				}
			}
		}
		err := stopAll(t.Context(), []func(context.Context) error{
			takes("traces", time.Second), takes("stores", time.Second), takes("locks", time.Second), takes("work", time.Hour),
		}, 15*time.Second)
		require.EqualError(t, err, "work took too long", "only the one that hangs fails")
		require.Equal(t, []string{"work", "locks", "stores", "traces"}, order)
		require.LessOrEqual(t, time.Since(began), 15*time.Second)
	})
}

func TestStopAll_EveryStopHangs_EndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		require.Error(t, stopAll(t.Context(), []func(context.Context) error{hang, hang, hang}, 15*time.Second))
		require.Equal(t, 15*time.Second, time.Since(began))
		require.NoError(t, stopAll(t.Context(), nil, time.Second))
	})
}
