package rush

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// netHTTP is the transport over net/http: for https, and as the measure that rawConns is
// compared with.
type netHTTP struct {
	root   string // scheme and host
	client *http.Client
}

// newHTTPTransport is net/http tuned for many requests to one host: as many idle
// connections as are ever used, and no compression that both sides would pay for.
func newHTTPTransport(conns int, timeout time.Duration, secure *tls.Config) *http.Transport {
	return &http.Transport{
		TLSClientConfig:     secure,
		DialContext:         (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:        conns,
		MaxIdleConnsPerHost: conns,
		MaxConnsPerHost:     conns,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true,
		WriteBufferSize:     2 << 10,
		ReadBufferSize:      2 << 10,
	}
}

func newNetHTTP(root string, conns int, timeout time.Duration, secure *tls.Config) *netHTTP {
	return &netHTTP{root: root, client: &http.Client{
		Transport: newHTTPTransport(conns, timeout, secure),
		Timeout:   timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect is no answer of the contract
		},
	}}
}

func (p *netHTTP) call(ctx context.Context, q request) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, p.root+q.path, nil)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", q.method, q.path, err)
	}
	req.Header = q.header()
	resp, err := p.client.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", q.method, q.path, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below, or the connection is lost anyway
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("%s %s: %w", q.method, q.path, err)
	case len(body) > maxBody:
		return answer{}, fmt.Errorf("%s %s: %w", q.method, q.path, errTooLarge)
	}
	return parseAnswer(resp.StatusCode, resp.Header, body), nil
}

// warm does nothing: net/http opens no connection without a request.
func (p *netHTTP) warm(context.Context, int) error { return nil }

func (p *netHTTP) cut() { p.client.CloseIdleConnections() }
