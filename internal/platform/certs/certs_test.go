package certs_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/certs"
	"example.com/seckill/internal/testing/testcerts"
)

// echo serves what is sent to it over TLS, or, if config is nil, an error.
func echo(t *testing.T, config *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if config != nil {
		l = tls.NewListener(l, config)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				if config == nil {
					_, _ = io.WriteString(c, "-ERR what is that?\r\n")
				}
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func serverConfig(t *testing.T, p testcerts.Pair) *tls.Config {
	t.Helper()
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{p.Load(t)}}
}

func TestProbe_EachTLSFault_ExplainsReason(t *testing.T) {
	ca, other := testcerts.New(t), testcerts.New(t)
	own := certs.Client{On: true, CA: ca.File, Keys: "redis.tls"}
	wantsOne := serverConfig(t, ca.Issue())
	wantsOne.ClientAuth = tls.RequireAndVerifyClientCert
	trust, err := certs.Trust(ca.File)
	require.NoError(t, err)
	wantsOne.ClientCAs = trust.RootCAs
	for name, tc := range map[string]struct {
		server *tls.Config
		client certs.Client
		why    string
	}{
		"right":                      {serverConfig(t, ca.Issue()), own, ""},
		"expired":                    {serverConfig(t, ca.Issue(testcerts.Expired)), own, "cannot be trusted: the certificate has expired on 20"},
		"another name":               {serverConfig(t, ca.Issue(testcerts.For("shop.example"))), own, "its certificate is for shop.example and not for 127.0.0.1"},
		"an unknown authority":       {serverConfig(t, other.Issue()), own, "its certificate is of an unknown authority"},
		"no TLS":                     {nil, own, "does not speak TLS"},
		"TLS, and it is not used":    {serverConfig(t, ca.Issue()), certs.Client{}, "speaks TLS"},
		"no TLS on either side":      {nil, certs.Client{}, ""},
		"it wants a certificate":     {wantsOne, own, "refuses the certificate of this program, or wants one: "},
		"it refuses the certificate": {wantsOne, withPair(own, other.Issue()), "refuses the certificate of this program, or wants one: "},
		"it takes the certificate":   {wantsOne, withPair(own, ca.Issue()), ""},
		"a name that it has not":     {serverConfig(t, ca.Issue()), named(own, "db.example"), "its certificate is for localhost, 127.0.0.1 and not for db.example"},
		"a name that it has":         {serverConfig(t, ca.Issue(testcerts.For("shop.example"))), named(own, "shop.example"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := tc.client.Config()
			require.NoError(t, err)
			addr := echo(t, tc.server)
			at, why := certs.Probe(t.Context(), []string{"127.0.0.1:1", addr}, config)
			require.NotContains(t, why, "\n")
			if tc.why == "" {
				require.Empty(t, at+why)
				return
			}
			require.Equal(t, addr, at)
			require.Contains(t, why, tc.why)
		})
	}
}

func withPair(c certs.Client, p testcerts.Pair) certs.Client {
	c.Cert, c.Key = p.Cert, p.Key
	return c
}

func named(c certs.Client, name string) certs.Client {
	c.ServerName = name
	return c
}

func TestProbe_SilentServer_EndsInTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, why := certs.Probe(ctx, []string{l.Addr().String()}, &tls.Config{MinVersion: tls.VersionTLS12})
	require.Contains(t, why, "it may not speak it")
}

func TestCertificateFiles_Unusable_AreRefusedByKey(t *testing.T) {
	ca := testcerts.New(t)
	good, other := ca.Issue(), ca.Issue()
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for name, tc := range map[string]struct {
		client certs.Client
		want   string
	}{
		"no file":             {certs.Client{CA: "/nowhere/ca.pem"}, "lock.tls_ca: open /nowhere/ca.pem"},
		"no certificate":      {certs.Client{CA: good.Key}, "lock.tls_ca: " + good.Key + " has no certificate in PEM"},
		"an empty file":       {certs.Client{CA: empty}, "has no certificate in PEM"},
		"a key of another":    {certs.Client{Cert: good.Cert, Key: other.Key}, "lock.tls_cert, lock.tls_key: tls: private key does not match"},
		"no key":              {certs.Client{Cert: good.Cert, Key: empty}, "lock.tls_cert, lock.tls_key: "},
		"an expired one":      {withPair(certs.Client{}, ca.Issue(testcerts.Expired)), "lock.tls_cert, lock.tls_key: the certificate has expired on"},
		"one that is garbage": {certs.Client{CA: garbage(t)}, "certificate 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			tc.client.On, tc.client.Keys = true, "lock.tls"
			_, err := tc.client.Config()
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func garbage(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "garbage.pem")
	require.NoError(t, os.WriteFile(file, []byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"), 0o600))
	return file
}

func TestProbe_OwnListener_IsKnownByItsCertificate(t *testing.T) {
	ca := testcerts.New(t)
	mine := ca.Issue(testcerts.For("shop.example"))
	config, err := certs.Own(mine.Cert)
	require.NoError(t, err)
	_, why := certs.Probe(t.Context(), []string{echo(t, serverConfig(t, mine))}, config)
	require.Empty(t, why, "at an address that is not in it")
	_, why = certs.Probe(t.Context(), []string{echo(t, serverConfig(t, ca.Issue(testcerts.For("shop.example"))))}, config)
	require.Contains(t, why, "unknown authority")
}
