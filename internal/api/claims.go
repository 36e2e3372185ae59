package api

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// claims is what our tokens carry. A time is in seconds since 1970, and 0 is none.
type claims struct {
	Role      string  `json:"role"`
	Subject   string  `json:"sub"`
	ExpiresAt float64 `json:"exp"`
	IssuedAt  float64 `json:"iat,omitempty"`
	NotBefore float64 `json:"nbf,omitempty"`

	jwt.Claims `json:"-"` // what the library would ask if it judged them
}

// clockSkew is how far the clock of another instance that signs may be ahead.
const clockSkew = 5 * time.Second

// judge refuses a token that has expired, never does or is not valid yet. The skew does
// not lengthen a life.
func (c *claims) judge(now time.Time) error {
	latest := float64(now.Add(clockSkew).UnixMilli()) / 1000
	switch {
	case !now.Before(time.Unix(int64(c.ExpiresAt), 0)):
		return jwt.ErrTokenExpired
	case c.IssuedAt > latest:
		return jwt.ErrTokenUsedBeforeIssued
	case c.NotBefore > latest:
		return jwt.ErrTokenNotValidYet
	}
	return nil
}
