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

	"seckill/internal/breaker"
)

// server answers or does not.
type server struct {
	answer atomic.Pointer[error]
	asked  atomic.Int64
}

func (s *server) ask(context.Context) error {
	s.asked.Add(1)
	if err := s.answer.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *server) set(err error) { s.answer.Store(&err) }

func watch(s *server, told *[]bool) *breaker.Breaker {
	return breaker.New(breaker.Options{
		Name: "it", Ask: s.ask, Timeout: time.Second, Log: slog.New(slog.DiscardHandler),
		Changed: func(_ string, away bool) { *told = append(*told, away) },
	})
}

func TestThreeSilencesInARowAndNobodyIsLetThroughUntilItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, told := &server{}, []bool{}
		s.set(errors.New("silence"))
		b := watch(s, &told)
		defer b.Close()
		for range 5 {
			b.Silent()
			b.Silent()
			b.Answered()
		}
		require.NoError(t, b.Away(), "there was an answer in between")
		require.Zero(t, s.asked.Load())
		for range 3 {
			b.Silent()
		}
		for range 200 {
			require.ErrorIs(t, b.Away(), breaker.ErrAway)
			time.Sleep(50 * time.Millisecond)
		}
		require.ErrorContains(t, b.Away(), "it: ")
		require.InDelta(t, 100, s.asked.Load(), 2, "it is asked ten times a second")
		b.Answered() // one that was asked long ago
		require.ErrorIs(t, b.Away(), breaker.ErrAway)

		s.set(nil)
		time.Sleep(110 * time.Millisecond)
		require.NoError(t, b.Away())
		require.Equal(t, []bool{false, true, false}, told)
		b.Silent()
		b.Silent()
		require.NoError(t, b.Away(), "it starts anew")
	})
}

func TestAQuestionThatGetsNoAnswerEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		b := breaker.New(breaker.Options{Timeout: time.Second, Log: slog.New(slog.DiscardHandler), Ask: func(ctx context.Context) error {
			if asked++; asked > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}})
		defer b.Close()
		for range 4 {
			b.Silent()
		}
		time.Sleep(1200 * time.Millisecond)
		require.NoError(t, b.Away())
	})
}

func TestNothingIsAskedAnyMore(t *testing.T) {
	for name, end := range map[string]func(s *server, b *breaker.Breaker){
		"after Close":                 func(_ *server, b *breaker.Breaker) { b.Close() },
		"when nobody will want it":    func(s *server, _ *breaker.Breaker) { s.set(breaker.ErrGone) },
		"after Close of a silent one": func(s *server, b *breaker.Breaker) { s.set(errors.New("silence")); b.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, told := &server{}, []bool{}
				s.set(errors.New("silence"))
				b := watch(s, &told)
				for range 3 {
					b.Silent()
				}
				time.Sleep(time.Second)
				end(s, b)
				time.Sleep(time.Second)
				before := s.asked.Load()
				time.Sleep(time.Minute)
				require.Equal(t, before, s.asked.Load())
				require.ErrorIs(t, b.Away(), breaker.ErrAway)
				b.Close()
			})
		})
	}
}
