package lock_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// breakIt makes calls fail from here on, as broken says.
func (m *memory) breakIt(broken func(call string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = broken
}

// slowLog takes its time for each line.
type slowLog struct {
	slog.Handler
	line time.Duration
}

func (l slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l slowLog) Handle(context.Context, slog.Record) error {
	time.Sleep(l.line)
	return nil
}

func TestLoss_ManyHolders_AllHearBeforeLogging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, counted := newMemory(), 0 // by one goroutine
		l, err := lock.New(m, lock.Options{
			Lease: 30 * second, Logger: slog.New(slowLog{slog.DiscardHandler, 150 * time.Millisecond}),
			Hooks: lock.Hooks{Lost: func() { counted++ }},
		})
		require.NoError(t, err)
		m.breakIt(func(call string) error {
			if call == "renew" {
				return errNetwork
			}
			return nil
		})
		var leases []*lock.Lease
		for i := range 20 {
			leases = append(leases, acquire(t, l, strconv.Itoa(i)))
		}
		time.Sleep(29*second + time.Millisecond)
		for _, h := range leases {
			require.ErrorIs(t, context.Cause(h.Context()), lock.ErrLost)
			require.True(t, m.holds(h.Key()), "no other could have acquired yet")
		}
		require.NoError(t, l.Close(t.Context()))
		require.Equal(t, 20, counted)
	})
}

func TestLoss_SlowLog_DelaysNoOtherHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		l, err := lock.New(m, lock.Options{Lease: 30 * second, Logger: slog.New(slowLog{slog.DiscardHandler, 10 * second})})
		require.NoError(t, err)
		m.breakIt(func(call string) error {
			if call == "renew" {
				return errNetwork
			}
			return nil
		})
		acquire(t, l, "a")
		time.Sleep(second)
		late := acquire(t, l, "b")
		began := time.Now()
		<-late.Context().Done()
		require.Equal(t, 29*second, time.Since(began))
		require.NoError(t, l.Close(t.Context()))
	})
}

func TestRelease_FirstAfterLoss_ReturnsError(t *testing.T) {
	for name, broken := range map[string]error{
		"while the server still has the key": nil, "while the server is away": errNetwork,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, m *memory) {
				h := acquire(t, l, "a")
				m.breakIt(func(call string) error {
					if call == "renew" {
						return errNetwork
					}
					return broken
				})
				<-h.Context().Done()
				require.True(t, m.holds("a"))
				err := h.Release(t.Context())
				require.ErrorIs(t, err, lock.ErrLost)
				require.ErrorIs(t, err, lock.ErrNotHeld)
				require.Equal(t, broken != nil, m.holds("a"), "it is freed all the same")
				err = h.Release(t.Context())
				require.True(t, errors.Is(err, lock.ErrNotHeld) && !errors.Is(err, lock.ErrLost))
				m.breakIt(nil)
				time.Sleep(second / 2)
				require.False(t, m.holds("a"), "also later")
			})
		})
	}
}
