package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// Why returns what is wrong with the TLS of a connection that failed with err, as the end of a
// sentence about the server, or "" if it is something else.
func Why(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if late := inTime(invalid.Cert, time.Now()); late != nil && invalid.Reason == x509.Expired {
			return "cannot be trusted: " + late.Error()
		}
		return "has a certificate that cannot be used: " + invalid.Error()
	}
	if other, ok := errors.AsType[x509.HostnameError](err); ok {
		return "cannot be trusted: its certificate is for " + names(other.Certificate) + " and not for " + other.Host
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "cannot be trusted: its certificate is of an unknown authority"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "does not speak TLS"
	}
	if err == nil {
		return ""
	}
	// What comes through gRPC or a pipeline is text alone.
	_, alert, ok := strings.Cut(err.Error(), "remote error: tls: ")
	alert = strings.TrimRight(alert, `"`)
	switch {
	case ok && (strings.Contains(alert, "certificate") || strings.Contains(alert, "unknown certificate authority")):
		return "refuses the certificate of this program, or wants one: " + alert
	case ok:
		return "ends the handshake of TLS: " + alert
	}
	return ""
}

// names returns what a certificate is for.
func names(c *x509.Certificate) string {
	all := c.DNSNames
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	const most = 5
	switch {
	case len(all) == 0:
		return "no name"
	case len(all) > most:
		all = append(all[:most:most], "others")
	}
	return strings.Join(all, ", ")
}

// alertWait is how long a server has to refuse a client's certificate: with TLS 1.3 it does so after
// the handshake has ended for the client.
const alertWait = 300 * time.Millisecond

// Probe connects to each address in turn. It returns the first with whose TLS something is wrong, and
// what, as Why does. With a nil config it looks for servers that speak nothing but TLS. It is for the
// message about servers that could not be used, whose clients say too little.
func Probe(ctx context.Context, addrs []string, config *tls.Config) (addr, why string) {
	for _, addr := range addrs {
		if why := probe(ctx, addr, config); why != "" {
			return addr, why
		}
	}
	return "", ""
}

func probe(ctx context.Context, addr string, config *tls.Config) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return ""
	}
	defer func() { _ = raw.Close() }()
	plain := config == nil
	if plain { // no certificate is trusted: one that is shown is all that is asked for
		config = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	}
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	conn := tls.Client(raw, config)
	err = conn.HandshakeContext(ctx)
	if plain {
		if _, shown := errors.AsType[*tls.CertificateVerificationError](err); shown {
			return "speaks TLS"
		}
		return ""
	}
	if err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(alertWait))
		_, err = conn.Read(make([]byte, 1))
		return Why(err)
	}
	why := Why(err)
	if timeout, is := errors.AsType[net.Error](err); why == "" && (is && timeout.Timeout() || errors.Is(err, io.EOF)) {
		return "does not answer the handshake of TLS: it may not speak it"
	}
	return why
}
