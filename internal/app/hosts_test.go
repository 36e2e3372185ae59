package app

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/config"
)

// ask returns the status and the body of a GET for a host.
func ask(t *testing.T, url, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestHosts_ListenersOnLoopback_RefuseOtherNames(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr, cfg.Admin.ServeAPI = "localhost:0", "127.0.0.1:0", true
	cfg.HTTP.Hosts = []string{"shop.example"}
	s, err := Start(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop(t.Context())) }()

	public, second := s.URL+"/api/v1/features", "http://"+s.adminAddr
	for _, url := range []string{public, s.URL + "/", second + "/readyz", second + "/debug/pprof/cmdline", second + "/api/v1/admin/rush"} {
		status, body := ask(t, url, "evil.example")
		require.Equal(t, http.StatusMisdirectedRequest, status, url)
		require.Contains(t, body, "Host header")
		for _, host := range []string{"localhost:1", "127.0.0.1", "[::1]"} {
			status, _ := ask(t, url, host)
			require.NotEqual(t, http.StatusMisdirectedRequest, status, "%s for %s", url, host)
		}
	}
	status, _ := ask(t, public, "shop.example")
	require.Equal(t, http.StatusOK, status, "http.hosts")
	status, _ = ask(t, second+"/readyz", "shop.example")
	require.Equal(t, http.StatusMisdirectedRequest, status, "http.hosts are of the public listener")
}

func TestLoopbackHosts_OtherAddresses_AnswerToEveryName(t *testing.T) {
	for addr, guarded := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "127.0.0.2:80": true, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.7:80": false,
	} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		require.NoError(t, err)
		require.Equal(t, guarded, api.LoopbackHosts(at, "own") != nil, addr)
	}
}
