package api

import (
	"net"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// LoopbackHosts returns the hosts that a listener on a loopback address answers to: the names of this machine, and own,
// the hosts by which the configuration calls the listener. It returns nil for any other listener, which answers to
// every host.
//
// A hostile page can resolve its own name to 127.0.0.1 (DNS rebinding). The browser then lets the page read the answers
// of the listener, which trusts every client that reaches it. Only the name in Host shows where the page is from.
func LoopbackHosts(listening net.Addr, own ...string) []string {
	at, ok := listening.(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil
	}
	return append([]string{"localhost", "127.0.0.1", "::1", at.IP.String()}, own...)
}

// isHost reports whether a Host header names one of the hosts, with any port.
func isHost(header string, hosts []string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]") // without a port
	}
	for _, one := range hosts {
		if strings.EqualFold(host, one) {
			return true
		}
	}
	return false
}

// onlyHosts refuses requests to other hosts than Options.Hosts before any route.
func (s *Server) onlyHosts() gin.HandlerFunc {
	refuse := s.observe(func(c *gin.Context) string { return s.refuse(c, errHost) })
	return func(c *gin.Context) {
		if !isHost(c.Request.Host, s.o.Hosts) {
			refuse(c)
			c.Abort()
		}
	}
}

// onlyHosts is the same for the second listener. Nil hosts are all hosts.
func onlyHosts(hosts []string, next http.Handler) http.Handler {
	if hosts == nil {
		return next
	}
	p := problemOf(errHost)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isHost(r.Host, hosts) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = typeProblem, noStore, noSniff
		w.WriteHeader(p.status)
		_, _ = w.Write(p.text) // the client is gone
	})
}
