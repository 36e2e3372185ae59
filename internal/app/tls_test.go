package app

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/platform/certs"
	"example.com/seckill/internal/testing/testcerts"
	"example.com/seckill/internal/tools/rush"
)

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func secureConfig(p testcerts.Pair) config.Config {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr, cfg.Admin.TLS = "127.0.0.1:0", "127.0.0.1:0", true
	cfg.HTTP.TLSCert, cfg.HTTP.TLSKey = p.Cert, p.Key
	return cfg
}

func TestTLS_NewCertificate_IsTakenByBothListeners(t *testing.T) {
	ca := testcerts.New(t)
	pair := ca.Issue()
	var out lockedBuffer
	s, err := Start(t.Context(), secureConfig(pair), slog.New(slog.NewTextHandler(&out, nil)), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop(t.Context())) }()
	require.NoError(t, s.OpenDemoSale(t.Context()))
	require.True(t, strings.HasPrefix(s.URL, "https://127.0.0.1:"))

	trust, err := certs.Trust(ca.File)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}}
	get := func(url string) (int, *tls.ConnectionState, error) {
		resp, err := client.Get(url)
		if err != nil {
			return 0, nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		require.Equal(t, 1, resp.ProtoMajor)
		return resp.StatusCode, resp.TLS, nil
	}
	for _, url := range []string{s.URL + "/api/v1/coupons/1", "https://" + s.adminAddr + "/readyz"} {
		status, _, err := get(url)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
	}
	plain, err := http.Get("http://" + strings.TrimPrefix(s.URL, "https://"))
	require.NoError(t, err)
	told, err := io.ReadAll(plain.Body)
	require.NoError(t, err)
	require.NoError(t, plain.Body.Close())
	require.Equal(t, http.StatusBadRequest, plain.StatusCode)
	require.Contains(t, string(told), "https://")

	report, err := rush.Run(t.Context(), rush.Options{URL: s.URL, Users: 20, Concurrency: 4, Token: s.UserToken, TLS: trust})
	require.NoError(t, err)
	require.NoError(t, report.Verdict(false))
	own, err := s.TLS()
	require.NoError(t, err)
	_, why := certs.Probe(t.Context(), []string{strings.TrimPrefix(s.URL, "https://")}, own)
	require.Empty(t, why)

	_, before, err := get(s.URL)
	require.NoError(t, err)
	ca.Write(pair, testcerts.Expired)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "the certificate has expired on") }, 60*time.Second, 50*time.Millisecond)
	_, still, err := get(s.URL)
	require.NoError(t, err, "the earlier certificate stays")
	require.Equal(t, before.PeerCertificates[0].Raw, still.PeerCertificates[0].Raw)
	ca.Write(pair)
	require.Eventually(t, func() bool {
		_, now, err := get(s.URL)
		return err == nil && !bytes.Equal(now.PeerCertificates[0].Raw, before.PeerCertificates[0].Raw)
	}, 60*time.Second, 50*time.Millisecond)
}

func TestCertificate_Unusable_IsRefusedAtStart(t *testing.T) {
	ca := testcerts.New(t)
	good, expired := ca.Issue(), ca.Issue(testcerts.Expired)
	for name, tc := range map[string]struct {
		pair testcerts.Pair
		want string
	}{
		"no file":          {testcerts.Pair{Cert: "/nowhere/cert.pem", Key: good.Key}, "open /nowhere/cert.pem: no such file"},
		"expired":          {expired, "the certificate has expired on "},
		"a key of another": {testcerts.Pair{Cert: good.Cert, Key: expired.Key}, "private key does not match public key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), secureConfig(tc.pair), slog.New(slog.DiscardHandler), Options{})
			require.ErrorContains(t, err, "http.tls_cert, http.tls_key: ")
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// The clients of locks do not say which server it was, nor why.
func TestLockError_TLSFails_ReportsOneLineReason(t *testing.T) {
	ca := testcerts.New(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.Issue(testcerts.For("etcd.example")).Load(t)},
	})
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, c); _ = c.Close() }()
		}
	}()
	for backend, want := range map[string]string{
		"etcd":      "its certificate is for etcd.example and not for 127.0.0.1",
		"zookeeper": "its certificate is for etcd.example and not for 127.0.0.1",
	} {
		cfg := config.Lock{Backend: backend, Addrs: []string{l.Addr().String()}, ClientTLS: config.ClientTLS{TLS: true, TLSCA: ca.File}}
		err := lockError(t.Context(), cfg, net.ErrClosed)
		require.ErrorContains(t, err, "lock.backend "+backend+" at "+l.Addr().String()+" cannot be trusted: "+want)
		require.NotContains(t, err.Error(), "\n")
		cfg.TLS, cfg.TLSCA = false, ""
		require.ErrorContains(t, lockError(t.Context(), cfg, net.ErrClosed), " speaks TLS: check lock.tls")
		cfg.Addrs = []string{"127.0.0.1:1"}
		require.ErrorContains(t, lockError(t.Context(), cfg, os.ErrDeadlineExceeded), "does not answer: check lock.addrs")
	}
}
