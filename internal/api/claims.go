package api

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-faster/jx"
	"github.com/golang-jwt/jwt/v5"
)

// claims holds the claims of our tokens. A time is in seconds since 1970, and 0 is none.
type claims struct {
	Role      string  `json:"role"`
	Subject   string  `json:"sub"`
	ExpiresAt float64 `json:"exp"`
	IssuedAt  float64 `json:"iat,omitempty"`
	NotBefore float64 `json:"nbf,omitempty"`

	jwt.Claims `json:"-"` // what the library would validate
}

// UnmarshalJSON reads one object and nothing else. It ignores claims that it does not know, and of
// a repeated claim the last counts.
func (c *claims) UnmarshalJSON(text []byte) error {
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(text)
	err := d.ObjBytes(func(d *jx.Decoder, name []byte) (err error) {
		switch string(name) {
		case "role":
			c.Role, err = d.Str()
		case "sub":
			c.Subject, err = d.Str()
		case "exp":
			c.ExpiresAt, err = seconds(d)
		case "iat":
			c.IssuedAt, err = seconds(d)
		case "nbf":
			c.NotBefore, err = seconds(d)
		default:
			err = d.Skip()
		}
		return err //nolint:wrapcheck // wrapped below
	})
	if err != nil {
		return fmt.Errorf("read the claims: %w", err)
	}
	if err := d.Skip(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the claims")
	}
	return nil
}

// seconds reads a number. The decoder's own Float64 reads 4-2 as one.
func seconds(d *jx.Decoder) (float64, error) {
	number, err := d.Raw()
	if err != nil {
		return 0, err //nolint:wrapcheck // UnmarshalJSON wraps it
	}
	return strconv.ParseFloat(string(number), 64) //nolint:wrapcheck // the same
}

// clockSkew is how far the clock of an instance that signs may be ahead.
const clockSkew = 5 * time.Second

// validate refuses a token that has expired, has no expiry or is not valid yet. The skew does not
// lengthen its life.
func (c *claims) validate(now time.Time) error {
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
