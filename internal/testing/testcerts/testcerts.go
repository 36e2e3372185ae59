// Package testcerts makes authorities and certificates for tests of TLS, in files that end with
// their test.
package testcerts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority signs certificates.
type Authority struct {
	File string // its own certificate, in PEM

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	t    testing.TB
}

// New returns an authority that nothing trusts yet.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.File = filepath.Join(t.TempDir(), "ca.pem")
	write(t, a.File, "CERTIFICATE", der)
	return a
}

// Pair is the files of a certificate and its key.
type Pair struct{ Cert, Key string }

// Option changes a certificate.
type Option func(*x509.Certificate)

// Expired makes a certificate that was good until yesterday.
func Expired(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = time.Now().Add(-47*time.Hour), time.Now().Add(-24*time.Hour)
}

// For makes a certificate for one name alone.
func For(name string) Option {
	return func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{name}, nil }
}

// Issue returns a certificate of a server or client on this machine: localhost and 127.0.0.1.
func (a *Authority) Issue(options ...Option) Pair {
	a.t.Helper()
	dir := a.t.TempDir()
	p := Pair{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	a.Write(p, options...)
	return p
}

// Write is Issue into the files of an earlier certificate.
func (a *Authority) Write(p Pair, options ...Option) {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: serial(a.t), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-47 * time.Hour), NotAfter: time.Now().Add(47 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, change := range options {
		change(template)
	}
	key := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(a.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	write(a.t, p.Cert, "CERTIFICATE", der)
	write(a.t, p.Key, "PRIVATE KEY", secret)
}

// Load returns the certificate for a listener of the test.
func (p Pair) Load(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	require.NoError(t, err)
	return pair
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	const bits = 64
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), bits))
	require.NoError(t, err)
	return n
}

func write(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}
