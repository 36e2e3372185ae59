package api

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The roles that a token may carry.
const (
	RoleUser  = "user"
	RoleAdmin = "admin"
)

// MinSecret is the least length of a signing secret, in bytes.
const MinSecret = 32

// maxToken bounds the tokens that are parsed. Our own have about 160 bytes.
const maxToken = 2048

// Identity is the bearer of a token.
type Identity struct {
	UserID int64
	Role   string
}

// Tokens signs and verifies bearer tokens: JWT, HS256 and nothing else.
type Tokens struct {
	secret []byte
	signer *hmacPool
	ttl    time.Duration
	now    func() time.Time
	parser *jwt.Parser
}

// NewTokens returns Tokens from a secret of at least MinSecret bytes. Tokens signed without a ttl
// live for ttl.
func NewTokens(secret []byte, ttl time.Duration) (*Tokens, error) {
	return newTokens(secret, ttl, time.Now)
}

func newTokens(secret []byte, ttl time.Duration, now func() time.Time) (*Tokens, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the secret that signs tokens must have at least %d bytes", MinSecret)
	}
	if ttl <= 0 {
		return nil, errors.New("the life of a token must be above zero")
	}
	return &Tokens{
		secret: secret, signer: newHMACPool(secret), ttl: ttl, now: now,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation(), // claims.validate does it
		),
	}, nil
}

// Sign returns a token for the user in the role, and its expiry. A ttl of 0 stands for the default
// of NewTokens.
func (t *Tokens) Sign(userID int64, role string, ttl time.Duration) (string, time.Time, error) {
	switch {
	case userID <= 0:
		return "", time.Time{}, errors.New("a user id must be above zero")
	case role != RoleUser && role != RoleAdmin:
		return "", time.Time{}, fmt.Errorf("a role is %s or %s", RoleUser, RoleAdmin)
	case ttl < 0:
		return "", time.Time{}, errors.New("the life of a token must be above zero")
	case ttl == 0:
		ttl = t.ttl
	}
	now := t.now().UTC().Truncate(time.Second)
	// A token counts whole seconds: rounded up, it never expires early.
	expires := now.Add((ttl + time.Second - 1).Truncate(time.Second))
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, &claims{
		Role: role, Subject: strconv.FormatInt(userID, 10), IssuedAt: float64(now.Unix()), ExpiresAt: float64(expires.Unix()),
	}).SignedString(t.secret)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a token: %w", err)
	}
	return text, expires, nil
}

// Verify returns the identity that the token proves. Its errors are for the log, not for the
// client.
func (t *Tokens) Verify(token string) (Identity, error) {
	if len(token) > maxToken {
		return Identity{}, errors.New("the token is too long")
	}
	c, err := t.read(token)
	if err != nil {
		return Identity{}, fmt.Errorf("the token: %w", err)
	}
	if err := c.validate(t.now()); err != nil {
		return Identity{}, fmt.Errorf("the token: %w", err)
	}
	id, ok := parseID(c.Subject)
	if !ok {
		return Identity{}, errors.New("the token's subject is not a user id")
	}
	if c.Role != RoleUser && c.Role != RoleAdmin {
		return Identity{}, errors.New("the token's role is unknown")
	}
	return Identity{UserID: id, Role: c.Role}, nil
}

var strictBase64 = base64.RawURLEncoding.Strict()

// ourHeader is the beginning of a token that was signed here, with its dot.
var ourHeader = strictBase64.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "."

// read checks the signature and reads the claims. The header of our own tokens is known and not
// parsed; another issuer's may spell the same differently.
func (t *Tokens) read(token string) (claims, error) {
	if strings.HasPrefix(token, ourHeader) {
		return t.readOurs(token)
	}
	var c claims
	parsed, err := t.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return t.secret, nil })
	if err != nil {
		return claims{}, fmt.Errorf("parse: %w", err)
	}
	if _, critical := parsed.Header["crit"]; critical {
		return claims{}, errors.New("the token has critical extensions")
	}
	return c, nil
}

// readOurs parses nothing before the signature is verified.
func (t *Tokens) readOurs(token string) (c claims, err error) {
	end := strings.LastIndexByte(token, '.')
	if end < len(ourHeader) || !t.signer.made(token[end+1:], token[:end]) {
		return claims{}, jwt.ErrTokenSignatureInvalid
	}
	text, err := strictBase64.DecodeString(token[len(ourHeader):end])
	if err != nil {
		return claims{}, fmt.Errorf("decode the claims: %w", err)
	}
	err = c.UnmarshalJSON(text)
	return c, err
}
