package api

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"

	"github.com/gin-gonic/gin"
)

// framedConn is a connection of the public listener. It searches the bytes that it reads for a request with both
// Content-Length and Transfer-Encoding. A proxy may use one of the two headers where net/http uses the other. The proxy
// then takes the rest of the request for the next request. A handler cannot detect this, because net/http drops
// Content-Length first.
type framedConn struct {
	net.Conn

	leave func() // returns its place among the connections

	line   [len(transferEncoding)]byte // the start of the present line
	n      int                         // bytes of line in use
	length bool                        // a line since the last empty line was Content-Length
	coding bool                        // a line since the last empty line was Transfer-Encoding

	ambiguous atomic.Bool // atomic, because a handler may read it while net/http reads the next request
}

const (
	contentLength    = "content-length:"
	transferEncoding = "transfer-encoding:"
)

// Read reads, and searches the bytes that it has read.
func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.look(p[:n])
	return n, err //nolint:wrapcheck // net/http compares it
}

// Close closes the connection and returns its place.
func (c *framedConn) Close() error {
	defer c.leave()
	return c.Conn.Close() //nolint:wrapcheck // the same
}

// CloseWrite lets net/http end its side first. A client that is still sending then gets the response and not a reset.
func (c *framedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// look finds the lines between two empty lines. It may take a part of a body for a header, but it misses no header.
func (c *framedConn) look(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		switch {
		case end < 0:
			c.n += copy(c.line[c.n:], p)
			return
		case c.n == 0: // p has the whole line, as in nearly every read
			c.endLine(p[:end])
		default:
			c.n += copy(c.line[c.n:], p[:end])
			c.endLine(c.line[:c.n])
		}
		c.n, p = 0, p[end+1:]
	}
}

func (c *framedConn) endLine(line []byte) {
	switch {
	case len(line) == 0, len(line) == 1 && line[0] == '\r':
		c.length, c.coding = false, false
		return
	case begins(line, contentLength):
		c.length = true
	case begins(line, transferEncoding):
		c.coding = true
	}
	if c.length && c.coding {
		c.ambiguous.Store(true)
	}
}

// begins reports whether the line begins with the name, in any case. The name is in lower case.
func begins(line []byte, name string) bool {
	return len(line) >= len(name) && line[0]|0x20 == name[0] && bytes.EqualFold(line[:len(name)], []byte(name))
}

type connKey struct{}

// ConnContext is for http.Server. With it the API rejects requests that have two lengths.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// checkFraming rejects a request that has, or may have, both Content-Length and Transfer-Encoding. The response is the
// last one of its connection.
func checkFraming(c *gin.Context) error {
	r := c.Request
	if len(r.TransferEncoding) == 0 && r.ProtoAtLeast(1, 1) { // HTTP/1.0 has no chunks: net/http ignores the header
		return nil
	}
	conn, ok := r.Context().Value(connKey{}).(*framedConn)
	if !ok || !conn.ambiguous.Load() {
		return nil
	}
	c.Writer.Header()["Connection"] = closeConn
	return malformed("a request has Content-Length or Transfer-Encoding, and not both")
}

var closeConn = []string{"close"}
