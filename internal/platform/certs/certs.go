// Package certs reads certificates and keys from PEM files, and explains in one line why a connection with
// them failed.
//
//	Client ─▶ tls.Config     of a connection to Redis, MySQL, etcd or ZooKeeper
//	Pair   ─▶ tls.Config     of a listener, whose certificate may be replaced while it serves
//	Own    ─▶ tls.Config     of a program that asks its own listener
//
// A server is always verified: no option turns the verification off.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Client configures how a client verifies a server, and which certificate the client presents.
type Client struct {
	On         bool   // false: no TLS
	CA         string // file of the authorities; empty: the system's
	ServerName string // the name that the server's certificate must have; empty: the host of its address
	Cert, Key  string // files of the client's certificate and its key; empty: none
	// Keys is the prefix of the names of the settings in errors: redis.tls for redis.tls_ca.
	Keys string
}

// Config returns the configuration of the connections, or nil without TLS. Every connection reads the
// client's certificate again, so you can renew it.
func (c Client) Config() (*tls.Config, error) {
	if !c.On {
		return nil, nil //nolint:nilnil // nil is no TLS for every client
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if c.CA != "" {
		trust, err := Trust(c.CA)
		if err != nil {
			return nil, fmt.Errorf("%s_ca: %w", c.Keys, err)
		}
		config.RootCAs = trust.RootCAs
	}
	if c.Cert == "" {
		return config, nil
	}
	if _, err := c.pair(); err != nil {
		return nil, err
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.pair() }
	return config, nil
}

// Trust returns a configuration that trusts the servers of the authorities in a file.
func Trust(ca string) (*tls.Config, error) {
	all, err := readCertificates(ca)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	for _, one := range all {
		config.RootCAs.AddCert(one)
	}
	return config, nil
}

func (c Client) pair() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err == nil {
		err = inTime(pair.Leaf, time.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("%s_cert, %[1]s_key: %w", c.Keys, err)
	}
	return &pair, nil
}

// Pair holds the certificate and the key of a listener.
type Pair struct {
	now atomic.Pointer[tls.Certificate]
}

// Set replaces the pair for new connections. It returns an error if the certificate and the key do not
// belong together, or if the certificate is outside its period of validity. The earlier pair then stays.
func (p *Pair) Set(cert, key []byte) error {
	pair, err := tls.X509KeyPair(cert, key)
	if err == nil {
		err = inTime(pair.Leaf, time.Now())
	}
	if err != nil {
		return err
	}
	p.now.Store(&pair)
	return nil
}

// Config returns the configuration of a listener. Call Set first. The listener speaks only HTTP/1.1, in
// which one connection carries one request at a time.
func (p *Pair) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.now.Load(), nil },
	}
}

// Own returns the configuration with which a program connects to its own listener. At any address, the
// listener must present the certificate in the file.
func Own(file string) (*tls.Config, error) {
	all, err := readCertificates(file)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(all[0])
	switch leaf := all[0]; {
	case len(leaf.DNSNames) > 0:
		config.ServerName = leaf.DNSNames[0]
	case len(leaf.IPAddresses) > 0:
		config.ServerName = leaf.IPAddresses[0].String()
	default:
		return nil, fmt.Errorf("%s has no name", file)
	}
	return config, nil
}

// readCertificates returns the certificates in a file, at least one.
func readCertificates(file string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d: %w", file, len(all)+1, err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return all, nil
}

func inTime(c *x509.Certificate, now time.Time) error {
	switch {
	case c == nil:
		return errors.New("there is no certificate")
	case now.After(c.NotAfter):
		return errors.New("the certificate has expired on " + day(c.NotAfter))
	case now.Before(c.NotBefore):
		return errors.New("the certificate is not valid before " + day(c.NotBefore) + ": is the clock right?")
	}
	return nil
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
