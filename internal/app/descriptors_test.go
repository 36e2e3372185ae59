package app

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestConnections_DescriptorLimit_StayBelow(t *testing.T) {
	real := config.Default()
	real.MySQL.DSN, real.Redis.Addrs = "x", []string{"a:1", "b:1", "c:1"}
	// 66 to the database, 64 to each Redis, 64 on the second listener and 64 others.
	const needs = 66 + 3*64 + 64 + 64
	for name, tc := range map[string]struct {
		asked, descriptors, want int
	}{
		"what is left":             {0, 1024, 1024 - needs},
		"as many as there may be":  {0, 1 << 30, mostConnections},
		"fewer":                    {100, 1024, 100},
		"just as many":             {1024 - needs, 1024, 1024 - needs},
		"one too many":             {1024 - needs + 1, 1024, 0},
		"more than by default":     {200_000, 1 << 20, 200_000},
		"nothing is left":          {0, needs, 0},
		"not even for the program": {0, 64, 0},
	} {
		t.Run(name, func(t *testing.T) {
			real.HTTP.MaxConnections = tc.asked
			got, err := maxConnections(real, tc.descriptors)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.want == 0, err != nil)
			if err != nil {
				require.ErrorContains(t, err, "http.max_connections")
				require.ErrorContains(t, err, "ulimit -n")
			}
		})
	}
	require.Equal(t, 256, perAddress(config.HTTP{}, 1024))
	require.Equal(t, 1, perAddress(config.HTTP{}, 2))
	require.Equal(t, 7, perAddress(config.HTTP{MaxConnectionsPerAddress: 7}, 1024))
}

// Silent connections take the places of the public listener, and none of the health checks'.
func TestHealth_FourThousandSilentConnections_Answers(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr, cfg.HTTP.MaxConnections = "127.0.0.1:0", "127.0.0.1:0", 256
	cfg.HTTP.ReadTimeout = time.Minute // so that they stay
	s, err := Start(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop(t.Context())) }()
	require.NoError(t, s.OpenDemoSale(t.Context()))

	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(url string) int {
		resp, err := client.Get(url)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	var silent []net.Conn
	for n := range 4000 {
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.URL, "http://"), time.Second)
		if err != nil {
			break // the system's queue is full
		}
		silent = append(silent, c)
		if n%500 == 499 {
			require.Equal(t, http.StatusOK, get("http://"+s.adminAddr+"/healthz"))
			require.Equal(t, http.StatusOK, get("http://"+s.adminAddr+"/readyz"))
		}
	}
	require.Greater(t, len(silent), 256)
	for _, c := range silent {
		require.NoError(t, c.Close())
	}
	require.Equal(t, http.StatusOK, get(s.URL+"/api/v1/coupons/1"))
}

func TestDemo_PublicAddress_DoesNotStart(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr = ":0", "127.0.0.1:0"
	_, err := Start(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{})
	require.ErrorContains(t, err, "SECKILL_AUTH__DEMO_PUBLIC")
}
