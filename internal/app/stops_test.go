package app

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
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

// A profile of a minute that is under way neither delays nor fails the end.
func TestServerStop_ProfileUnderWay_EndsCleanly(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr, cfg.HTTP.DrainDelay = "127.0.0.1:0", "127.0.0.1:0", 0
	s, err := Start(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{})
	require.NoError(t, err)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.adminAddr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("GET /debug/pprof/trace?seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	require.NoError(t, err)
	_, err = bufio.NewReader(conn).ReadByte() // the trace has begun
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, s.Stop(t.Context()))
	require.Less(t, time.Since(began), 10*time.Second, "of the 15 s of http.shutdown_timeout")
}
