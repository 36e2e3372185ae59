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

// input is an HTTP request while it is read. It keeps the first error, and every read after that
// returns a zero value.
type input struct {
	c   *gin.Context
	who auth.Identity
	err error
}

// refuse keeps the first error.
func (in *input) refuse(err error) {
	if in.err == nil {
		in.err = err
	}
}

// malformed returns a 400 whose text the client sees.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, args...))
}

// parseID reads an id as it is written in JSON and in paths: a decimal number from 1 to 2^63-1 in
// its only spelling, without sign, leading zeros or spaces.
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

// id reads the id in the path.
func (in *input) id() int64 {
	id, ok := parseID(in.c.Param("id"))
	if !ok {
		in.refuse(malformed("the id in the path must be a decimal number from 1 to 9223372036854775807"))
	}
	return id
}

// The lengths of an idempotency key.
const minKey, maxKey = 1, 255

// key reads the Idempotency-Key, which may be missing but not empty.
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
	cursor int64 // the id after which it begins; 0 is the beginning
	limit  int
}

// The bounds of a page.
const defaultLimit, maxLimit = 20, 100

// page reads limit and cursor, and refuses every other query parameter.
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
	slices.Sort(names) // so that the same request has the same response
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

// more cuts a list that was read with one entry too many, and returns the cursor of the next page:
// "" on the last one.
func more[T any](all []T, limit int, id func(T) int64) ([]T, string) {
	if len(all) <= limit {
		return all, ""
	}
	all = all[:limit]
	return all, strconv.FormatInt(id(all[limit-1]), 10)
}

// bearer reads the token out of the Authorization header: one header, the word,
// spaces, the token. What else may follow is no part of any token, so it is not looked for.
func bearer(h http.Header) (string, bool) {
	all := h["Authorization"]
	if len(all) != 1 || len(all[0]) < 8 || !strings.EqualFold(all[0][:7], "Bearer ") {
		return "", false
	}
	token := strings.TrimLeft(all[0][7:], " ")
	return token, token != ""
}

// identify returns the identity that the request's bearer token proves.
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

// challenge sets the header that names the way to authenticate (RFC 6750).
func challenge(asked, answer http.Header) {
	value := `Bearer realm="seckill"`
	if len(asked["Authorization"]) > 0 {
		value += `, error="invalid_token"`
	}
	answer["Www-Authenticate"] = []string{value}
}
