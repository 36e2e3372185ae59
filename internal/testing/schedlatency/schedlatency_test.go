package schedlatency_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/schedlatency"
	"example.com/seckill/internal/testing/testservers"
)

var program string

func TestMain(m *testing.M) {
	if testservers.Servers() == nil {
		var err error
		if program, err = testservers.BuildPlain(schedlatency.Command); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	testservers.Main(m)
}

func TestLongest_RepeatedCall_ReportsSinceLastCall(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	w, err := schedlatency.Start(t.Context(), program)
	if err != nil { // as in a container, whose root may not do all that root may
		require.ErrorContains(t, err, "give a thread the priority SCHED_FIFO: operation not permitted")
		return
	}
	defer w.Close()
	time.Sleep(50 * time.Millisecond) // each thread has slept
	late, err := w.Longest(t.Context())
	require.NoError(t, err)
	require.Positive(t, late, "no thread is woken at once")
	require.Less(t, late, time.Minute)
	require.Eventually(t, func() bool { // asked twice within a nap
		late, err = w.Longest(t.Context())
		return err != nil || late == 0
	}, 10*time.Second, 100*time.Microsecond, "it was told before")
	require.NoError(t, err)

	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err = w.Longest(stopped)
	require.ErrorIs(t, err, context.Canceled)
}

// It has no right to that priority, or there is no such program.
func TestLatency_Unknown_SaysWhy(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	w, err := schedlatency.Start(t.Context(), "/bin/false")
	require.ErrorContains(t, err, "ask how late threads are woken")
	late, err := w.Longest(t.Context())
	require.NoError(t, err)
	require.Zero(t, late, "what is not known excuses nothing")
	w.Close()
	_, err = schedlatency.Start(t.Context(), "/nowhere")
	require.ErrorContains(t, err, "/nowhere")
}
