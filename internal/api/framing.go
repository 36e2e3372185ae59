package api

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"

	"github.com/gin-gonic/gin"
)

// framedConn is a connection of the public listener. It looks at the bytes that are read for a
// request with both Content-Length and Transfer-Encoding: a proxy that goes by the one where
// net/http goes by the other takes the rest of such a request for the next one. net/http drops
// Content-Length before a handler could see it.
type framedConn struct {
	net.Conn

	leave func() // returns its place among the connections

	line   [len(transferEncoding)]byte // the beginning of the line that is being read
	n      int                         // so much of it
	length bool                        // Content-Length was seen since the last empty line
	coding bool                        // so was Transfer-Encoding

	ambiguous atomic.Bool // a handler may look at it while the next request is read
}

const (
	contentLength    = "content-length:"
	transferEncoding = "transfer-encoding:"
)

// Read reads and looks at what was read.
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

// CloseWrite lets net/http end its side first, so that a client that is still sending gets the
// response and not a reset.
func (c *framedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// look finds the lines that are between two empty ones. What it takes for a header may be part of a
// body, but no header escapes it.
func (c *framedConn) look(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		switch {
		case end < 0:
			c.n += copy(c.line[c.n:], p)
			return
		case c.n == 0: // the whole line is here, as nearly every is
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

// begins reports whether the line begins with the name, which is in small letters.
func begins(line []byte, name string) bool {
	return len(line) >= len(name) && line[0]|0x20 == name[0] && bytes.EqualFold(line[:len(name)], []byte(name))
}

type connKey struct{}

// ConnContext is for http.Server: with it the API refuses requests with two lengths.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// checkFraming refuses a request that has, or may have, both Content-Length and Transfer-Encoding.
// The response is the last one of its connection.
func checkFraming(c *gin.Context) error {
	r := c.Request
	if len(r.TransferEncoding) == 0 && r.ProtoAtLeast(1, 1) { // HTTP/1.0 has no chunks: net/http ignores them
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
