package api

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// The errors of requests that do not reach the packages of the sale.
var (
	errMalformed       = errors.New("api: malformed request")
	errUnauthenticated = errors.New("api: no valid token")
	errForbidden       = errors.New("api: the role does not allow that")
	errNoRoute         = errors.New("api: no such route")
	errMethod          = errors.New("api: the route has no such method")
	errTooLarge        = errors.New("api: the body is too large")
	errMediaType       = errors.New("api: the body is not application/json")
	errNoPurchaseToken = errors.New("api: no purchase token")
	errRateLimited     = errors.New("api: too many requests of one client")
	errTooManyStreams  = errors.New("api: too many event streams of one address")
	errHost            = errors.New("api: the Host header is not a name of this listener")
	errOverloaded      = errors.New("api: too many requests at once")
	errClosing         = errors.New("api: the server is stopping")
)

// problem is the meaning of an error to a client.
type problem struct {
	err     error
	status  int // the HTTP status of the code
	code    string
	retry   string // seconds in Retry-After; empty for no such header
	jitter  bool   // add up to two seconds, so that clients rejected together do not retry together
	detail  string
	trusted bool   // the error's own text is meant for the client and replaces detail
	text    []byte // the body, encoded once, because every rejection of a sold-out sale has this body
}

// statusOf maps the codes of the problems to HTTP statuses.
var statusOf = map[string]int{
	"sold_out":                http.StatusConflict,
	"limit_reached":           http.StatusConflict,
	"cooldown":                http.StatusConflict,
	"bad_request":             http.StatusBadRequest,
	"unauthenticated":         http.StatusUnauthorized,
	"forbidden":               http.StatusForbidden,
	"not_started":             http.StatusForbidden,
	"purchase_token_required": http.StatusForbidden,
	"purchase_token_invalid":  http.StatusForbidden,
	"purchase_token_expired":  http.StatusForbidden,
	"proof_rejected":          http.StatusForbidden,
	"not_found":               http.StatusNotFound,
	"method_not_allowed":      http.StatusMethodNotAllowed,
	"too_large":               http.StatusRequestEntityTooLarge,
	"unsupported_media_type":  http.StatusUnsupportedMediaType,
	"request_in_progress":     http.StatusConflict,
	"conflict":                http.StatusConflict,
	"wrong_host":              http.StatusMisdirectedRequest,
	"ended":                   http.StatusGone,
	"idempotency_key_reused":  http.StatusUnprocessableEntity,
	"rate_limited":            http.StatusTooManyRequests,
	"overloaded":              http.StatusServiceUnavailable,
	"sale_paused":             http.StatusServiceUnavailable,
	"stock_loading":           http.StatusServiceUnavailable,
	"unavailable":             http.StatusServiceUnavailable,
	"in_doubt":                http.StatusAccepted,
}

// problems maps errors to codes. The first match counts. An error that is not in the table is a bug. The server logs
// it, and sends it to the client as internal.
//
// The most frequent rejections come first. ErrPaused is also an ErrNotLoaded, and comes before it. ErrVoided comes
// before the unknown outcome that it resolved. ErrCommitUnknown comes after ErrUnavailable. Only the order route has an
// order to return with ErrCommitUnknown, and the route returns ErrCommitUnknown without the other error.
var problems = withBodies([]problem{
	{err: coupon.ErrSoldOut, code: "sold_out", detail: "No unit is left."},
	{err: order.ErrLimitReached, code: "limit_reached", detail: "You have as many as one user may have."},
	{err: order.ErrCooldown, code: "cooldown", detail: "You gave a unit back a moment ago; you may buy again after the time in Retry-After."},
	{err: errMalformed, code: "bad_request", detail: "The request is malformed.", trusted: true},
	{err: coupon.ErrInvalid, code: "bad_request", detail: "The coupon is invalid.", trusted: true},
	{err: errUnauthenticated, code: "unauthenticated", detail: "A valid bearer token is needed."},
	{err: errForbidden, code: "forbidden", detail: "An administrator's token is needed."},
	{err: coupon.ErrNotStarted, code: "not_started", detail: "The sale has not started."},
	{err: errNoPurchaseToken, code: "purchase_token_required", detail: "Buying needs a Purchase-Token: POST …/purchase-tokens gives one."},
	{err: auth.ErrPurchaseToken, code: "purchase_token_invalid", detail: "The Purchase-Token is not good for this.", trusted: true},
	{err: order.ErrOtherSale, code: "purchase_token_invalid", detail: "The Purchase-Token is of another sale: its window was changed."},
	{err: order.ErrPermitExpired, code: "purchase_token_expired", detail: "The Purchase-Token has expired; ask for another."},
	{err: auth.ErrProof, code: "proof_rejected", detail: "The proof was not accepted."},
	{err: errNoRoute, code: "not_found", detail: "There is no such thing, or it is not yours."},
	{err: coupon.ErrNotFound, code: "not_found", detail: "There is no such thing, or it is not yours."},
	{err: order.ErrNotFound, code: "not_found", detail: "There is no such thing, or it is not yours."},
	{err: ErrNoExperiment, code: "not_found", detail: "There is no such thing, or it is not yours."},
	{err: errMethod, code: "method_not_allowed", detail: "The Allow header lists the methods of this route."},
	{
		err: errHost, code: "wrong_host",
		detail: "The Host header is not a name of this listener, which is for this machine: ask localhost or 127.0.0.1, or set http.hosts.",
	},
	{err: errTooLarge, code: "too_large", detail: "A body may have 4096 bytes."},
	{err: errMediaType, code: "unsupported_media_type", detail: "A body must be application/json, in UTF-8 and not encoded."},
	{err: order.ErrBusy, code: "request_in_progress", retry: "1", detail: "Another request of yours is in progress."},
	{err: order.ErrDuplicate, code: "conflict", detail: "The request is known and its order is not to be found."},
	{err: order.ErrVoided, code: "conflict", detail: "The request was abandoned; ask again with a new Idempotency-Key or Purchase-Token."},
	{err: order.ErrConflict, code: "conflict", detail: "The order's state forbids that.", trusted: true},
	{err: coupon.ErrOtherDeployment, code: "conflict", detail: "Redis is in use by another database.", trusted: true},
	{err: coupon.ErrConflict, code: "conflict", detail: "The coupon's state forbids that.", trusted: true},
	{err: ErrUnderWay, code: "conflict", detail: "One is under way already."},
	{err: coupon.ErrEnded, code: "ended", detail: "The sale has ended."},
	{err: order.ErrKeyReused, code: "idempotency_key_reused", detail: "This Idempotency-Key belongs to another request."},
	{err: errRateLimited, code: "rate_limited", retry: "1", detail: "Too many requests; slow down."},
	{
		err: errTooManyStreams, code: "rate_limited", retry: "10",
		detail: "Too many event streams of one address; read the coupon every few seconds instead.",
	},
	{err: errOverloaded, code: "overloaded", retry: "1", jitter: true, detail: "Too many requests at once; nothing was done."},
	{err: order.ErrOverloaded, code: "overloaded", retry: "1", jitter: true, detail: "Too many buy at once; nothing was done."},
	{
		err: coupon.ErrPaused, code: "sale_paused", retry: "1",
		detail: "The sale is paused.",
	},
	{
		err: coupon.ErrNotLoaded, code: "stock_loading", retry: "1",
		detail: "The stock of the sale is being loaded.",
	},
	{err: order.ErrUnavailable, code: "unavailable", retry: "1", detail: "A store is away for the moment."},
	{err: order.ErrStaleEpoch, code: "unavailable", retry: "1", detail: "The stock was loaded anew; ask again."},
	{err: order.ErrCommitUnknown, code: "in_doubt", retry: "1"},
	{err: errClosing, code: "unavailable", retry: "1", detail: "The server is stopping."},
	{err: context.DeadlineExceeded, code: "unavailable", retry: "1", detail: "It took too long; ask again."},
	{err: context.Canceled, code: "unavailable", retry: "1", detail: "It was broken off; ask again."},
})

// internal is the problem of every error that is not in the table.
var internal = problem{status: http.StatusInternalServerError, code: "internal"}

// problemOf returns the problem of err, or the zero problem if err is nil.
func problemOf(err error) problem {
	if err == nil {
		return problem{}
	}
	for i := range problems {
		if errors.Is(err, problems[i].err) {
			p := problems[i]
			if p.trusted {
				p.detail, p.text = publicDetail(err, p), nil
			}
			if told, ok := err.(*SoldOut); ok { //nolint:errorlint // place returns it as it is
				p.text = told.body
			} else if rest, ok := errors.AsType[*order.CooldownError](err); ok {
				p.retry = wholeSeconds(rest.Remaining)
			}
			return p
		}
	}
	return internal
}

// refuses reports whether the problem is the whole response.
func (p problem) refuses() bool { return p.status >= http.StatusBadRequest }

// after returns the value of Retry-After, or "" for no such header.
func (p problem) after() string {
	if p.jitter {
		return jittered[rand.IntN(len(jittered))] //nolint:gosec // not a secret
	}
	return p.retry
}

var jittered = []string{"1", "2", "3"}

// publicDetail returns the part of err's text that a client may see. It trusts only the text of the error that directly
// wraps p.err. An outer error may name the address of a store, or a statement.
func publicDetail(err error, p problem) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if errors.Unwrap(e) == p.err { //nolint:errorlint // the very error, not one that wraps it
			return strings.TrimPrefix(e.Error(), p.err.Error()+": ")
		}
	}
	return p.detail
}

// problemJSON is RFC 9457 with a stable code.
type problemJSON struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
	ID     string `json:"id,omitempty"` // of an internal error; the log has the same id
}

func (p problem) json(id string) problemJSON {
	return problemJSON{
		Type: "urn:seckill:problem:" + p.code, Title: http.StatusText(p.status),
		Status: p.status, Code: p.code, Detail: p.detail, ID: id,
	}
}

func (p problem) body(id string) []byte {
	text, err := json.Marshal(p.json(id))
	if err != nil {
		panic(err) // strings and a number
	}
	return text
}

// withBodies fills in the statuses and the bodies of the problems.
func withBodies(all []problem) []problem {
	for i := range all {
		all[i].status = statusOf[all[i].code]
		all[i].text = all[i].body("")
	}
	return all
}
