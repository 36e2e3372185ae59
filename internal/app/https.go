package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/platform/certs"
)

// secure makes the listeners speak TLS, if the configuration sets TLS for them. They use the certificate that is in the
// files, and a newer one when the files change. stop ends the watch on the files.
func (l *listeners) secure(cfg config.Config, log *slog.Logger) (stop func(), err error) {
	var pair certs.Pair
	stop, err = watch(log, watchedFiles{
		key: "http.tls_cert, http.tls_key", paths: []string{cfg.HTTP.TLSCert, cfg.HTTP.TLSKey},
		take: func(texts [][]byte) error { return pair.Set(texts[0], texts[1]) },
	})
	if err != nil || cfg.HTTP.TLSCert == "" {
		return stop, err
	}
	l.public = tlsListener{l.public, pair.Config()}
	if cfg.Admin.TLS {
		l.admin = tlsListener{l.admin, pair.Config()}
	}
	return stop, nil
}

// tlsListener speaks TLS on the connections that it accepts. The handshake is a part of the first read. So the time
// limit of the first request includes the handshake.
type tlsListener struct {
	net.Listener

	config *tls.Config
}

// Accept waits for a connection.
func (l tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http looks at it
	}
	return &tlsConn{Conn: tls.Server(c, l.config), raw: c}, nil
}

// tlsConn is a connection over TLS. If the client speaks plain HTTP, tlsConn answers with an error in plain HTTP.
type tlsConn struct {
	*tls.Conn

	raw net.Conn
}

const notTLS = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" +
	"This server speaks https: begin the address with https://\n"

// Read reads and decrypts.
func (c *tlsConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if header, plain := errors.AsType[tls.RecordHeaderError](err); plain && isMethod(string(header.RecordHeader[:])) {
		_, _ = io.WriteString(c.raw, notTLS)
	}
	return n, err //nolint:wrapcheck // net/http compares it
}

// isMethod reports whether head may be the start of a plain HTTP request.
func isMethod(head string) bool {
	return strings.Trim(head, "ABCDEFGHIJKLMNOPQRSTUVWXYZ /") == ""
}

// TLS returns the configuration with which the program verifies its own public listener, or nil without TLS.
func (s *Server) TLS() (*tls.Config, error) { return OwnTLS(s.app.cfg.HTTP) }

// OwnTLS returns the TLS configuration with which a program verifies a server on the same machine. cfg is the
// configuration of that server. OwnTLS returns nil without TLS.
func OwnTLS(cfg config.HTTP) (*tls.Config, error) {
	if cfg.TLSCert == "" {
		return nil, nil //nolint:nilnil // nil is no TLS for every client
	}
	own, err := certs.Own(cfg.TLSCert)
	if err != nil {
		return nil, Usage(fmt.Errorf("http.tls_cert: %w", err))
	}
	return own, nil
}

// TrustTLS returns the configuration with which a client verifies a server. The file of the flag --ca has the
// authorities that the client trusts. Without a file TrustTLS returns nil, and the client trusts the system's
// authorities.
func TrustTLS(file string) (*tls.Config, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // nil is the system's authorities for every client
	}
	trust, err := certs.Trust(file)
	if err != nil {
		return nil, Usage(fmt.Errorf("--ca: %w", err))
	}
	return trust, nil
}
