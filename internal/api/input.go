package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/seckill/internal/api/auth"
)

// input is an HTTP request while a handler reads it. It keeps the first error of the reads, so the handler checks for
// an error once, after the last read. The value of a failed read has no meaning.
type input struct {
	c   *gin.Context
	who auth.Identity
	err error
}

// refuse keeps err, unless the input has an earlier error.
func (in *input) refuse(err error) {
	if in.err == nil {
		in.err = err
	}
}

// malformed returns the error of a 400 response. The client sees its text.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, args...))
}

// parseID reads an id in the form of JSON and of paths. An id is a decimal number from 1 to 2^63-1. It has one
// spelling, without a sign, leading zeros or spaces.
func parseID(s string) (int64, bool) {
	if s == "" || len(s) > 19 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}

// id reads the id in the path of the request.
func (in *input) id() int64 {
	id, ok := parseID(in.c.Param("id"))
	if !ok {
		in.refuse(malformed("the id in the path must be a decimal number from 1 to 9223372036854775807"))
	}
	return id
}

// The shortest and the longest idempotency key, in characters.
const minKey, maxKey = 1, 255

// key reads the Idempotency-Key. The header may be missing but not empty.
func (in *input) key() string {
	all := in.c.Request.Header["Idempotency-Key"]
	if len(all) == 0 {
		return ""
	}
	if len(all) > 1 {
		in.refuse(malformed("Idempotency-Key is there twice"))
		return ""
	}
	key := all[0]
	if len(key) < minKey || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		in.refuse(malformed("Idempotency-Key must have %d to %d printable ASCII characters", minKey, maxKey))
		return ""
	}
	return key
}

// page is a part of a list.
type page struct {
	cursor int64 // the page starts after this id; 0 is the start of the list
	limit  int
}

// The limits of a page: without the parameter, and the largest.
const defaultLimit, maxLimit = 20, 100

// page reads limit and cursor, and rejects every other query parameter.
func (in *input) page() page {
	p := page{limit: defaultLimit}
	if in.c.Request.URL.RawQuery == "" {
		return p
	}
	query, err := url.ParseQuery(in.c.Request.URL.RawQuery)
	if err != nil {
		in.refuse(malformed("the query cannot be read"))
		return p
	}
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names) // so that equal requests have equal responses
	for _, name := range names {
		value := query[name][0]
		switch {
		case name != "limit" && name != "cursor":
			in.refuse(malformed("unknown query parameter %q", name))
		case len(query[name]) > 1:
			in.refuse(malformed("%s is there twice", name))
		case name == "limit":
			n, ok := parseID(value)
			if !ok || n > maxLimit {
				in.refuse(malformed("limit must be a number from 1 to %d", maxLimit))
			}
			p.limit = int(n)
		default:
			id, ok := parseID(value)
			if !ok {
				in.refuse(malformed("cursor must be the next_cursor of the page before"))
			}
			p.cursor = id
		}
	}
	return p
}

// more cuts a list that was read with one entry too many. It also returns the cursor of the next page, or "" on the
// last page.
func more[T any](all []T, limit int, id func(T) int64) ([]T, string) {
	if len(all) <= limit {
		return all, ""
	}
	all = all[:limit]
	return all, strconv.FormatInt(id(all[limit-1]), 10)
}

// bearer returns the token of the Authorization header, if the request has exactly one such header. The header has the
// word Bearer, spaces and the token. bearer does not check the rest of the header for further text. With further text
// the rest is not a valid token.
func bearer(h http.Header) (string, bool) {
	all := h["Authorization"]
	if len(all) != 1 || len(all[0]) < 8 || !strings.EqualFold(all[0][:7], "Bearer ") {
		return "", false
	}
	token := strings.TrimLeft(all[0][7:], " ")
	return token, token != ""
}

// identify returns the identity that the bearer token of a request proves.
func (s *Server) identify(h http.Header) (auth.Identity, error) {
	token, ok := bearer(h)
	if !ok {
		return auth.Identity{}, errUnauthenticated
	}
	who, err := s.tokens.Verify(token)
	if err != nil {
		return auth.Identity{}, fmt.Errorf("%w: %w", errUnauthenticated, err)
	}
	return who, nil
}

// challenge sets the header that names the authentication scheme (RFC 6750).
func challenge(asked, answer http.Header) {
	value := `Bearer realm="seckill"`
	if len(asked["Authorization"]) > 0 {
		value += `, error="invalid_token"`
	}
	answer["Www-Authenticate"] = []string{value}
}
