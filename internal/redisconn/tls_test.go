package redisconn_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/internal/redisconn"
	"seckill/internal/testbed/testservers"
)

// The system's authorities are read once per process, so this is the only test
// that may ask for them.
func TestWithTLSTheServerIsChecked(t *testing.T) {
	// httptest has a certificate for 127.0.0.1 that is its own authority.
	web := httptest.NewTLSServer(nil)
	certificate := web.TLS.Certificates[0]
	web.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	require.NoError(t, os.WriteFile(file, block, 0o600))
	t.Setenv("SSL_CERT_FILE", file)
	t.Setenv("SSL_CERT_DIR", t.TempDir())

	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	require.NoError(t, err)
	stop := forward(l, testservers.Redis(t).Addr())
	defer stop()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)

	client, err := redisconn.Open(t.Context(), redisconn.Options{Addrs: []string{"127.0.0.1:" + port}, TLS: true})
	require.NoError(t, err)
	require.NoError(t, client.Ping(t.Context()).Err())
	require.NoError(t, client.Close())
	_, err = redisconn.Open(t.Context(), redisconn.Options{Addrs: []string{"localhost:" + port}, TLS: true})
	require.ErrorContains(t, err, "certificate", "a name that the certificate does not have")
	_, err = redisconn.Open(t.Context(), redisconn.Options{Addrs: []string{testservers.Redis(t).Addr()}, TLS: true})
	require.Error(t, err, "a server without TLS")
}

// forward connects what l accepts to addr, until stop.
func forward(l net.Listener, addr string) (stop func()) {
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { join(in, addr) })
		}
	})
	return func() { _ = l.Close(); running.Wait() }
}

func join(in net.Conn, addr string) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(in, out) })
	_, _ = io.Copy(out, in)
	_ = out.Close()
	back.Wait()
}
