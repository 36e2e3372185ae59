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

// endpoint answers a request and returns the code of the problem, or "".
type endpoint func(c *gin.Context) (code string)

// observe wraps an endpoint with what every request has: the header against content sniffing, the
// server's time, the recovery from panics, the metrics and the log. It calls the observers of the route
// after Options.Observe.
//
// Date has whole seconds of this machine's clock; Server-Time has milliseconds of the clock that opens
// and ends sales.
func (s *Server) observe(e endpoint, observers ...func(status int, code string, took time.Duration)) gin.HandlerFunc {
	return func(c *gin.Context) {
		start := time.Now()
		h := c.Writer.Header()
		h["X-Content-Type-Options"] = noSniff
		h["Server-Time"] = []string{wireTime(s.o.Now()).Format(wireLayout)}
		route := c.FullPath()
		if route == "" {
			route = "unmatched"
		}
		if s.o.Trace != nil {
			var done func(status int)
			c.Request, done = s.o.Trace(route, c.Writer, c.Request)
			defer func() { done(c.Writer.Status()) }()
		}
		code := s.recoverPanic(c, e)
		took := time.Since(start)
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

// recoverPanic calls e, if screen lets the request pass, and turns a panic into a 500. If the
// response has begun, it closes the connection instead, so that the client does not mistake half a
// response for a whole.
func (s *Server) recoverPanic(c *gin.Context, e endpoint) (code string) {
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
			s.o.Log.ErrorContext(c.Request.Context(), "request panicked after its response began", args...)
			panic(http.ErrAbortHandler)
		}
		code = s.internalError(c, "request panicked", args...)
	}()
	if err := s.screen(c); err != nil {
		return s.refuse(c, err)
	}
	return e(c)
}

// screen refuses a request before any route sees it. Every request counts against its address, so that a route needs
// no limit of its own. A framing that two programs read differently comes before the limit, because it must
// close the connection.
func (s *Server) screen(c *gin.Context) error {
	allowed := s.clients.Limiter == nil || s.clients.Allow(addressKey(c.ClientIP()))
	if err := checkFraming(c); err != nil {
		return err
	}
	if allowed {
		return nil
	}
	s.clients.tell(c.Writer.Header())
	if c.Request.ContentLength == 0 {
		return errRateLimited
	}
	return readInTime(c.Writer, func() error { return errRateLimited }) // the server discards the body in that time
}

// newID returns a random id for one failure.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
