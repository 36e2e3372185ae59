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

// claims is what our tokens carry. A time is in seconds since 1970, and 0 is none.
type claims struct {
	Role      string  `json:"role"`
	Subject   string  `json:"sub"`
	ExpiresAt float64 `json:"exp"`
	IssuedAt  float64 `json:"iat,omitempty"`
	NotBefore float64 `json:"nbf,omitempty"`

	jwt.Claims `json:"-"` // what the library would ask if it judged them
}

// UnmarshalJSON reads one object and nothing else. What it does not know it lets be, and
// of a claim that is there twice the last counts.
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
		return err //nolint:wrapcheck // it is below
	})
	if err != nil {
		return fmt.Errorf("read the claims: %w", err)
	}
	if err := d.Skip(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the claims")
	}
	return nil
}

// seconds reads a number. The decoder's own Float64 takes 4-2 for one.
func seconds(d *jx.Decoder) (float64, error) {
	number, err := d.Raw()
	if err != nil {
		return 0, err //nolint:wrapcheck // UnmarshalJSON does it
	}
	return strconv.ParseFloat(string(number), 64) //nolint:wrapcheck // the same
}

// clockSkew is how far the clock of another instance that signs may be ahead.
const clockSkew = 5 * time.Second

// validate refuses a token that has expired, never does or is not valid yet. The skew does
// not lengthen a life.
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
