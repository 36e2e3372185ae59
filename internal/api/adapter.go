package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// access is who may ask.
type access int

const (
	anyone access = iota
	user          // anybody with a token; an administrator has a user id too
	admin
)

// routePolicy is what stands before a handler.
type routePolicy struct {
	who access
	// budget is the time that the request may take; 0 is the server's usual one.
	budget time.Duration
	// buys marks the requests that buy: see Server.enter.
	buys bool
	// admits refuses before anything is read, if it is there.
	admits func(c *gin.Context) error
}

// reader is a request that can read itself from HTTP.
type reader[T any] interface {
	*T
	read(in *input)
}

// header is a response that says more than its JSON: its status and its headers.
type headerWriter interface {
	writeHeader(h http.Header) (status int)
}

// handle is the one adapter between HTTP and the handlers. See the package comment
// for the order of things.
func handle[Req, Res any, P reader[Req]](s *Server, d routePolicy, answer func(context.Context, Req) (Res, error)) endpoint {
	return func(c *gin.Context) string {
		in := input{c: c}
		var req Req
		read := func() error {
			if err := s.admit(c, d, &in.who); err != nil {
				return err
			}
			P(&req).read(&in)
			return in.err
		}
		// A body comes as fast as its client likes, so it has come before the request takes
		// a place that others need. Without one the cheapest refusal comes first.
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
		ctx := s.budget(c, d)
		defer ctx.end()
		res, err := answer(ctx, req)
		p := problemOf(err)
		if p.refuses() { // before res is copied into an interface
			return s.reject(c, err, p)
		}
		return s.answer(c, res, p)
	}
}

// bodyWithin bounds the time in which a body of 4 KiB at most must have come.
const bodyWithin = time.Second

// readInTime reads a request with its body. Of a recorder, which has no connection, the
// deadline cannot be set.
func readInTime(w http.ResponseWriter, read func() error) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin))
	err := read()
	if err == nil { // of what was refused the server reads the rest, in that time too
		_ = control.SetReadDeadline(time.Time{}) // it sets the next request's itself
	}
	return err
}

// admit refuses who may not ask, or asks too often.
func (s *Server) admit(c *gin.Context, d routePolicy, who *Identity) (err error) {
	if d.admits != nil {
		if err := d.admits(c); err != nil {
			return err
		}
	}
	if d.who == anyone {
		return nil
	}
	if *who, err = s.identify(c.Request.Header); err != nil {
		return err
	}
	switch {
	case d.who == admin && who.Role != RoleAdmin:
		return errForbidden
	case d.who == user && !s.users.allow(who.UserID):
		return errRateLimited
	}
	return nil
}

// answer renders what a handler gave, with the problem that it has or none, and says
// that one's code, or "".
func (s *Server) answer(c *gin.Context, res any, p problem) string {
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
	write(c, status, typeJSON, text)
	return p.code
}

// statusGone is what the log and the metrics have for a client that left before its
// answer. Nobody receives it.
const statusGone = 499

// refuse renders the problem that err is and says its code.
func (s *Server) refuse(c *gin.Context, err error) string { return s.reject(c, err, problemOf(err)) }

// reject is refuse for who knows the problem already.
func (s *Server) reject(c *gin.Context, err error, p problem) string {
	// A body that does not come in time ends the context too, and that client still
	// listens.
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
		s.o.Log.DebugContext(c.Request.Context(), "request could not be served", "route", c.FullPath(), "error", err)
	}
	text := p.text
	if text == nil {
		text = p.body("")
	}
	write(c, p.status, typeProblem, text)
	return p.code
}

// internalError returns a 500 that tells nothing but an id, and logs everything under it.
func (s *Server) internalError(c *gin.Context, message string, args ...any) string {
	id := newID()
	s.o.Log.ErrorContext(c.Request.Context(), message,
		append([]any{"id", id, "method", c.Request.Method, "route", c.FullPath()}, args...)...)
	write(c, internal.status, typeProblem, internal.body(id))
	return internal.code
}

// The values of headers that are set on every answer are shared; nobody changes
// them in place.
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
		_ = c.Error(err) // the client is gone: there is nobody left to tell
	}
}
