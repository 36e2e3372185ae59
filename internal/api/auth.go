package api

import (
	"fmt"
	"net/http"
)

// identify returns the identity that the request's bearer token proves.
func (s *Server) identify(h http.Header) (Identity, error) {
	token, ok := bearer(h)
	if !ok {
		return Identity{}, errUnauthenticated
	}
	who, err := s.tokens.Verify(token)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", errUnauthenticated, err)
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
