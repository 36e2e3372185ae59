package rush

import (
	"context"
	"net/http"
)

// request is one request of a buyer. None of them has a body.
type request struct {
	method string
	path   string // from the root of the server, prefix included
	token  string // "" = none
	key    string // Idempotency-Key, "" = none
	permit string // Purchase-Token, "" = none
}

// transport sends requests to the server. An error means that no complete answer
// arrived, and nothing about what the server did.
type transport interface {
	call(ctx context.Context, q request) (answer, error)
	// warm opens up to n connections ahead of time, so that the clock does not
	// measure handshakes.
	warm(ctx context.Context, n int) error
	// cut ends every connection. Requests in flight fail, if their context has
	// ended too; later ones open new connections.
	cut()
}

// header returns what every request of a buyer carries, for net/http.
func (q request) header() http.Header {
	h := http.Header{"Accept": {"application/json"}}
	if q.token != "" {
		h["Authorization"] = []string{"Bearer " + q.token}
	}
	if q.key != "" {
		h["Idempotency-Key"] = []string{q.key}
	}
	if q.permit != "" {
		h["Purchase-Token"] = []string{q.permit}
	}
	return h
}

// appendTo writes the request as it goes over the wire.
func (q request) appendTo(b []byte, host string) []byte {
	b = append(b, q.method...)
	b = append(b, ' ')
	b = append(b, q.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\nAccept: application/json"...)
	if q.token != "" {
		b = append(b, "\r\nAuthorization: Bearer "...)
		b = append(b, q.token...)
	}
	if q.key != "" {
		b = append(b, "\r\nIdempotency-Key: "...)
		b = append(b, q.key...)
	}
	if q.permit != "" {
		b = append(b, "\r\nPurchase-Token: "...)
		b = append(b, q.permit...)
	}
	if q.method != http.MethodGet {
		b = append(b, "\r\nContent-Length: 0"...)
	}
	return append(b, "\r\n\r\n"...)
}
