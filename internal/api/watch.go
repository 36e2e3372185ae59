package api

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
)

// endpoint answers a request and says the code of the problem, or "".
type endpoint func(c *gin.Context) (code string)

// watched puts around an endpoint what every request has: the headers that keep a
// browser from guessing, a panic that ends as a 500, the metrics and the log. The
// observers of the route are called beside the one of all routes.
func (s *Server) watched(e endpoint, observers ...func(status int, code string, took time.Duration)) gin.HandlerFunc {
	return func(c *gin.Context) {
		start := time.Now()
		c.Writer.Header()["X-Content-Type-Options"] = noSniff
		code := s.survive(c, e)
		took := time.Since(start)
		route := c.FullPath()
		if route == "" {
			route = "unmatched"
		}
		s.o.Observe(route, c.Request.Method, c.Writer.Status(), code, took)
		for _, observe := range observers {
			observe(c.Writer.Status(), code, took)
		}
		if ctx := c.Request.Context(); s.o.Log.Enabled(ctx, slog.LevelDebug) {
			s.o.Log.DebugContext(ctx, "request", "method", c.Request.Method, "route", route,
				"status", c.Writer.Status(), "code", code, "took", took)
		}
	}
}

// survive turns a panic into a 500, unless the answer has begun: then the
// connection is cut, so that the client does not take half an answer for a whole.
func (s *Server) survive(c *gin.Context, e endpoint) (code string) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler { //nolint:errorlint // it is raised as it is
			panic(p)
		}
		args := []any{"panic", fmt.Sprint(p), "stack", string(debug.Stack())}
		if c.Writer.Written() {
			s.o.Log.ErrorContext(c.Request.Context(), "request panicked in its answer", args...)
			panic(http.ErrAbortHandler)
		}
		code = s.fault(c, "request panicked", args...)
	}()
	return e(c)
}

// newID names one failure.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
