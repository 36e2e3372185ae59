package rush

import (
	"bufio"
	"strings"
	"testing"
)

// Whatever a server answers, it is read as one answer of at most maxBody, or is an error.
func FuzzReadAnswer_AnyBytes_AreReadOrAnError(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\n{\"id\":\"1234\"}", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "HTTP/1.1 999 \r\n\r\n", "HTTP/1.1 101 x\r\n\r\n", "", "x",
		"HTTP/1.1 409 Conflict\r\nRetry-After: -1\r\nContent-Length: 99999999999\r\n\r\n{",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := &rawConn{in: bufio.NewReader(strings.NewReader(s))}
		if a, _, err := w.read(); err == nil && (a.status < 100 || w.body.Len() > maxBody) {
			t.Fatalf("%q was read as %d with %d bytes", s, a.status, w.body.Len())
		}
	})
}
