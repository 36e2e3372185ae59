package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/seckill/internal/config"
)

// HealthCheck asks a running server how it is.
type HealthCheck struct {
	URL     string        // of the listener; "" is that of the configuration, on this machine
	Live    bool          // whether the process is there, and not whether it can serve
	Public  bool          // the public listener, which has no health check, is asked
	CA      string        // a file of the authorities to trust, of an https URL; "" is the system's
	Timeout time.Duration // in which the server has to answer
}

// Ask returns what the server says of itself, or why it is not well.
func (h HealthCheck) Ask(ctx context.Context, cfg config.Config) (string, error) {
	if h.Live && h.Public {
		return "", Usage(errors.New("--live is of the second listener: leave out --public"))
	}
	if h.Timeout <= 0 {
		return "", Usage(errors.New("--timeout must be above zero"))
	}
	if h.URL != "" && !isServerURL(h.URL) {
		return "", Usage(errors.New("--url must be http://host:port or https://host:port"))
	}
	addr, path, encrypted := cfg.Admin.Addr, "/readyz", cfg.Admin.TLS
	switch {
	case h.Live:
		path = "/healthz"
	case h.Public:
		addr, path, encrypted = cfg.HTTP.Addr, "/api/v1/features", cfg.HTTP.TLSCert != ""
	}
	at := h.URL
	secure, err := TrustTLS(h.CA)
	if at == "" {
		at = scheme(encrypted) + onThisMachine(addr)
		if encrypted {
			secure, err = OwnTLS(cfg.HTTP)
		}
	}
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	return askHealth(ctx, strings.TrimSuffix(at, "/")+path, secure)
}

// isServerURL reports whether text is a URL of HTTP with a host.
func isServerURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// onThisMachine returns where a listener can be reached from its own machine.
func onThisMachine(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// askHealth returns what the server says of itself, or why it is not well.
func askHealth(ctx context.Context, at string, secure *tls.Config) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", Usage(fmt.Errorf("--url: %w", err))
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: secure}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("the server does not answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	const most = 4 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return "", fmt.Errorf("the server does not answer: %w", err)
	}
	var said struct {
		Status string `json:"status"`
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(body, &said) // what is no health check has neither
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s %s", at, resp.Status, said.Reason)
	}
	if said.Status == "" {
		said.Status = "ok"
	}
	return said.Status, nil
}
