package api

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// claims is what our tokens carry. A time is in seconds since 1970 and 0 is none, so
// that reading one makes no objects.
type claims struct {
	Role      string  `json:"role"`
	Subject   string  `json:"sub"`
	ExpiresAt float64 `json:"exp"`
	IssuedAt  float64 `json:"iat,omitempty"`
	NotBefore float64 `json:"nbf,omitempty"`
}

func numericDate(seconds float64) *jwt.NumericDate {
	if seconds == 0 {
		return nil
	}
	return jwt.NewNumericDate(time.Unix(int64(seconds), 0))
}

// What the library asks for, to judge the claims.

func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return numericDate(c.ExpiresAt), nil }

func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return numericDate(c.IssuedAt), nil }

func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return numericDate(c.NotBefore), nil }
func (c *claims) GetSubject() (string, error)             { return c.Subject, nil }
func (*claims) GetIssuer() (string, error)                { return "", nil }
func (*claims) GetAudience() (jwt.ClaimStrings, error)    { return nil, nil }
