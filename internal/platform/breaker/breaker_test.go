package breaker_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/breaker"
)

var errSilence = errors.New("silence")

// server answers or does not.
type server struct {
	answer atomic.Pointer[error]
	probes atomic.Int64
}

func (s *server) probe(context.Context) error {
	s.probes.Add(1)
	if err := s.answer.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *server) set(err error) { s.answer.Store(&err) }

func watch(s *server, told *[]bool) *breaker.Breaker {
	return breaker.New(breaker.Options{
		Name: "it", CallTimeout: time.Second, Outcome: outcome,
		Probe: s.probe, ProbeTimeout: time.Second, Log: slog.New(slog.DiscardHandler),
		OnChange: func(_ string, open bool) { *told = append(*told, open) },
	})
}

func outcome(err error) breaker.Outcome {
	switch {
	case err == nil:
		return breaker.Responsive
	case errors.Is(err, context.Canceled):
		return breaker.Inconclusive
	}
	return breaker.Unresponsive
}

// call makes one call that ends with err.
func call(t *testing.T, b *breaker.Breaker, err error) error {
	t.Helper()
	return b.Do(t.Context(), func() error { return err })
}

// silent makes a call that gets no answer.
func silent(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	require.ErrorIs(t, call(t, b, errSilence), errSilence)
}

func TestBreaker_ThreeTimeouts_OpenUntilProbeSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, told := &server{}, []bool{}
		s.set(errSilence)
		b := watch(s, &told)
		defer b.Close()
		for range 5 {
			silent(t, b)
			silent(t, b)
			require.NoError(t, call(t, b, nil), "there was an answer in between")
		}
		require.Zero(t, s.probes.Load())
		late := make(chan error)
		go func() { late <- b.Do(t.Context(), func() error { time.Sleep(time.Second); return nil }) }()
		synctest.Wait()
		for range 3 {
			silent(t, b)
		}
		for range 200 {
			require.ErrorIs(t, call(t, b, nil), breaker.ErrOpen)
			time.Sleep(50 * time.Millisecond)
		}
		require.ErrorContains(t, call(t, b, nil), "it: ")
		require.InDelta(t, 100, s.probes.Load(), 2, "ten times a second")
		require.NoError(t, <-late, "a call from before answered meanwhile, which closes nothing")

		s.set(nil)
		time.Sleep(110 * time.Millisecond)
		require.NoError(t, call(t, b, nil))
		require.Equal(t, []bool{false, true, false}, told)
		silent(t, b)
		silent(t, b)
		require.NoError(t, call(t, b, nil), "it starts anew")
	})
}

func TestBreaker_CallerEndsCall_StaysClosed(t *testing.T) {
	b := watch(&server{}, &[]bool{})
	defer b.Close()
	ended, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for range 10 {
		require.ErrorIs(t, call(t, b, context.Canceled), context.Canceled)
		require.ErrorIs(t, b.Do(ended, func() error { return errSilence }), errSilence, "there was no time left")
	}
	require.NoError(t, call(t, b, nil))
}

func TestBreaker_ProbeHangs_EndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := 0
		b := breaker.New(breaker.Options{
			Outcome: outcome, ProbeTimeout: time.Second, Log: slog.New(slog.DiscardHandler),
			Probe: func(ctx context.Context) error {
				if probes++; probes > 1 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			},
		})
		defer b.Close()
		for range 3 {
			silent(t, b)
		}
		time.Sleep(1200 * time.Millisecond)
		require.NoError(t, call(t, b, nil))
	})
}

func TestProbes_CloseOrNotNeeded_End(t *testing.T) {
	for name, end := range map[string]func(s *server, b *breaker.Breaker){
		"after Close":                 func(_ *server, b *breaker.Breaker) { b.Close() },
		"when it is not needed":       func(s *server, _ *breaker.Breaker) { s.set(breaker.ErrStop) },
		"after Close of a silent one": func(s *server, b *breaker.Breaker) { s.set(errSilence); b.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, told := &server{}, []bool{}
				s.set(errSilence)
				b := watch(s, &told)
				for range 3 {
					silent(t, b)
				}
				time.Sleep(time.Second)
				end(s, b)
				time.Sleep(time.Second)
				before := s.probes.Load()
				time.Sleep(time.Minute)
				require.Equal(t, before, s.probes.Load())
				require.ErrorIs(t, call(t, b, nil), breaker.ErrOpen)
				b.Close()
			})
		})
	}
}
