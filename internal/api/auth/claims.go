package auth

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
	// The caller sets Issuer and Audience before it reads a token: the token must have them. Empty is
	// any.
	Issuer   string `json:"iss,omitempty"`
	Audience string `json:"aud,omitempty"`

	issued, meant bool // it has that issuer, and that audience

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
			c.Role, err = role(d)
		case "sub":
			c.Subject, err = d.Str()
		case "exp":
			c.ExpiresAt, err = seconds(d)
		case "iat":
			c.IssuedAt, err = seconds(d)
		case "nbf":
			c.NotBefore, err = seconds(d)
		case "iss":
			c.issued, err = has(d, c.Issuer, jx.String)
		case "aud":
			c.meant, err = has(d, c.Audience, jx.Array)
		default:
			err = d.Skip()
		}
		return err //nolint:wrapcheck // wrapped below
	})
	if err != nil {
		return fmt.Errorf("read the claims: %w", err)
	}
	if err := d.Skip(); err != io.EOF { //nolint:errorlint // it comes as it is, for every request
		return errors.New("something follows the claims")
	}
	return nil
}

// role reads a role, without memory for that of nearly every token.
func role(d *jx.Decoder) (string, error) {
	text, err := d.StrBytes()
	if string(text) == RoleUser {
		return RoleUser, err //nolint:wrapcheck // UnmarshalJSON wraps it
	}
	return string(text), err
}

// has reports whether the value is the text or, where it may be a list, has it. An empty text is in
// every value.
func has(d *jx.Decoder, text string, most jx.Type) (found bool, err error) {
	if text == "" {
		return true, d.Skip() //nolint:wrapcheck // UnmarshalJSON wraps it
	}
	if most != jx.Array || d.Next() != jx.Array {
		got, err := d.Str()
		return got == text, err //nolint:wrapcheck // the same
	}
	err = d.Arr(func(d *jx.Decoder) error {
		got, err := d.Str()
		found = found || got == text
		return err //nolint:wrapcheck // the same
	})
	return found, err //nolint:wrapcheck // the same
}

// seconds reads a number. The decoder's own Float64 reads 4-2 as one.
func seconds(d *jx.Decoder) (float64, error) {
	number, err := d.Raw()
	if err != nil {
		return 0, err //nolint:wrapcheck // UnmarshalJSON wraps it
	}
	if whole, err := strconv.ParseInt(string(number), 10, 64); err == nil { // as they nearly always are
		return float64(whole), nil
	}
	return strconv.ParseFloat(string(number), 64) //nolint:wrapcheck // the same
}

var errLongLife = errors.New("its life is longer than allowed")

// clockSkew is how far the clock of an instance that signs may be ahead.
const clockSkew = 5 * time.Second

// validate rejects a token that has expired, has no expiry or is not valid yet, and one of another
// issuer or audience. It also rejects a life above longest, unless longest is 0. The skew does not
// lengthen the life.
func (c *claims) validate(now time.Time, longest time.Duration) error {
	latest := float64(now.Add(clockSkew).UnixMilli()) / 1000
	switch {
	case c.Issuer != "" && !c.issued:
		return jwt.ErrTokenInvalidIssuer
	case c.Audience != "" && !c.meant:
		return jwt.ErrTokenInvalidAudience
	case longest > 0 && c.ExpiresAt > latest+longest.Seconds(),
		longest > 0 && c.IssuedAt > 0 && c.ExpiresAt-c.IssuedAt > longest.Seconds()+1: // it is rounded up
		return errLongLife
	case !now.Before(time.Unix(int64(c.ExpiresAt), 0)):
		return jwt.ErrTokenExpired
	case c.IssuedAt > latest:
		return jwt.ErrTokenUsedBeforeIssued
	case c.NotBefore > latest:
		return jwt.ErrTokenNotValidYet
	}
	return nil
}
