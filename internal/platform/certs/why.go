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

// Why explains the TLS fault behind err, the error of a failed connection. It returns the end of a sentence
// about the server, or "" if err has another cause.
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
	// gRPC and pipelines pass on only the text of an error.
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

// names lists the names and addresses for which a certificate is valid, five at most.
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

// alertWait is how long a server has to reject a client's certificate. With TLS 1.3 the server does so
// after the handshake has ended for the client.
const alertWait = 300 * time.Millisecond

// Probe connects to each address in turn. It returns the first address with a TLS fault, and the fault as
// Why describes it. With a nil config it looks for servers that speak only TLS. It serves the error message
// about unavailable servers, because their clients report too little.
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
	if plain { // trust no certificate: it is enough that the server presents one
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
