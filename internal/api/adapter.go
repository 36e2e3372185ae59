package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/order"
)

// access is the role that a route requires.
type access int

const (
	anyone  access = iota
	visitor        // without a token, or with a good one: what is told may depend on the role
	user           // any valid token; an administrator has a user id too
	admin
)

// routePolicy is the checks that a request must pass before its handler runs.
type routePolicy struct {
	who access
	// budget is the time that the request may take; 0 is the server's default.
	budget time.Duration
	// buys marks purchase requests: see Server.enter.
	buys bool
	// shared marks a response that is the same for all but administrators, for a second.
	shared bool
	// admits, if set, refuses a request before anything of it is read.
	admits func(c *gin.Context) error
}

// reader is a request that reads itself from HTTP.
type reader[T any] interface {
	*T
	read(in *input)
}

// headerWriter is a response that sets its own status and headers.
type headerWriter interface {
	writeHeader(h http.Header) (status int)
}

// call is everything of a request that a handler's answer depends on, in one allocation.
type call[Req any] struct {
	in     input
	req    Req
	budget budget
}

// handle adapts a handler to HTTP. The package comment shows the order of its steps.
func handle[Req, Res any, P reader[Req]](s *Server, d routePolicy, answer func(context.Context, Req) (Res, error)) endpoint {
	return func(c *gin.Context) string {
		r := &call[Req]{in: input{c: c}}
		read := func() error {
			if err := s.admit(c, d, &r.in.who); err != nil {
				return err
			}
			P(&r.req).read(&r.in)
			return r.in.err
		}
		// A body arrives as slowly as its client likes, so it is read before the request takes an
		// in-flight slot. A request without one meets the cheapest refusal first.
		body := c.Request.ContentLength != 0
		if body {
			if err := readInTime(c.Writer, read); err != nil {
				return s.refuse(c, err)
			}
		}
		if !s.enter(d) {
			return s.refuse(c, errOverloaded)
		}
		defer s.leave(d)
		if !body {
			if err := read(); err != nil {
				return s.refuse(c, err)
			}
		}
		s.begin(&r.budget, c, d)
		defer r.budget.end()
		res, err := answer(&r.budget, r.req)
		p := problemOf(err)
		if p.refuses() { // before res is copied into an interface
			return s.reject(c, err, p)
		}
		return s.answer(c, res, p, d.shared && r.in.who.Role != auth.RoleAdmin)
	}
}

// A body, of 4 KiB at most, must arrive in bodyWithin, and a time of up to bodyGrace that is another for
// each: what came at once is not closed, and does not come again, at once. A connection that waits costs
// less than one that is closed and comes again.
const (
	bodyWithin = time.Second
	bodyGrace  = 2 * time.Second
)

// readInTime reads a request with its body in its time. A response writer without a connection,
// as a recorder is, has no deadline to set.
func readInTime(w http.ResponseWriter, read func() error) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin + rand.N(bodyGrace))) //nolint:gosec // not a secret
	err := read()
	if err == nil { // the server discards the rest of a refused body, in that time too
		_ = control.SetReadDeadline(time.Time{}) // the server sets the next request's itself
	}
	return err
}

// admit refuses a caller without the required role, or one that asks too often.
func (s *Server) admit(c *gin.Context, d routePolicy, who *auth.Identity) (err error) {
	if d.admits != nil {
		if err := d.admits(c); err != nil {
			return err
		}
	}
	if d.who == anyone || d.who == visitor && len(c.Request.Header["Authorization"]) == 0 {
		return nil
	}
	if *who, err = s.identify(c.Request.Header); err != nil {
		return err
	}
	switch {
	case d.who == admin && who.Role != auth.RoleAdmin:
		return errForbidden
	case d.who == user && !s.users.Allow(who.UserID):
		s.users.tell(c.Writer.Header())
		return errRateLimited
	}
	return nil
}

// answer renders a handler's response or the problem p, and returns the problem's code, or "".
func (s *Server) answer(c *gin.Context, res any, p problem, shared bool) string {
	text, err := json.Marshal(res)
	if err != nil {
		return s.refuse(c, fmt.Errorf("render %T: %w", res, err))
	}
	status := http.StatusOK
	if h, ok := res.(headerWriter); ok {
		status = h.writeHeader(c.Writer.Header())
	}
	if p.status != 0 {
		status = p.status
		c.Writer.Header()["Retry-After"] = []string{p.retry}
	}
	if shared {
		writeShared(c, text)
		return p.code
	}
	write(c, status, typeJSON, text)
	return p.code
}

// statusGone is the status that the log and the metrics show for a client that left before its
// response. No client receives it.
const statusGone = 499

// refuse renders the problem that err means and returns its code.
func (s *Server) refuse(c *gin.Context, err error) string { return s.reject(c, err, problemOf(err)) }

// reject is refuse for a caller that knows the problem already.
func (s *Server) reject(c *gin.Context, err error, p problem) string {
	// A body that does not arrive in time ends the context too, but that client still listens.
	if c.Request.Context().Err() != nil && !errors.Is(err, errMalformed) {
		c.Status(statusGone)
		c.Writer.WriteHeaderNow()
		return "client_gone"
	}
	if p.status == http.StatusInternalServerError {
		return s.internalError(c, "request failed", "error", err)
	}
	h := c.Writer.Header()
	if after := p.after(); after != "" {
		h["Retry-After"] = []string{after}
	}
	switch p.status {
	case http.StatusUnauthorized:
		challenge(c.Request.Header, h)
	case http.StatusServiceUnavailable:
		if p.err == order.ErrUnavailable || p.err == context.DeadlineExceeded { //nolint:errorlint // the rows of the table
			s.o.ObserveUnavailable(c.Request.Context(), c.FullPath(), err)
		}
		s.o.Log.DebugContext(c.Request.Context(), "request could not be served", "route", c.FullPath(), "error", err)
	}
	text := p.text
	if text == nil {
		text = p.body("")
	}
	write(c, p.status, typeProblem, text)
	return p.code
}

// internalError renders a 500 with nothing but an id, and logs everything under that id.
func (s *Server) internalError(c *gin.Context, message string, args ...any) string {
	id := newID()
	s.o.Log.ErrorContext(c.Request.Context(), message,
		append([]any{"id", id, "method", c.Request.Method, "route", c.FullPath()}, args...)...)
	write(c, internal.status, typeProblem, internal.body(id))
	return internal.code
}

// The values of headers that are set on every response are shared; nothing changes them in place.
var (
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
	noStore     = []string{"no-store"}
	noSniff     = []string{"nosniff"}
)

func write(c *gin.Context, status int, kind []string, text []byte) {
	h := c.Writer.Header()
	h["Content-Type"] = kind
	h["Cache-Control"] = noStore
	c.Status(status)
	if _, err := c.Writer.Write(text); err != nil {
		_ = c.Error(err) // the client is gone
	}
}
