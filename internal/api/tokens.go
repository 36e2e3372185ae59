package api

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The roles that a token may give.
const (
	RoleUser  = "user"
	RoleAdmin = "admin"
)

// MinSecret is the fewest bytes that a signing secret may have.
const MinSecret = 32

// clockSkew is how far the clock of another instance that signs may be ahead.
const clockSkew = 5 * time.Second

// maxToken bounds what is looked at. Our own tokens have about 160 bytes.
const maxToken = 2048

// Identity is who a token says its bearer is.
type Identity struct {
	UserID int64
	Role   string
}

// Tokens signs and verifies bearer tokens: JWT, HS256 and nothing else.
type Tokens struct {
	secret []byte
	ttl    time.Duration
	now    func() time.Time
	parser *jwt.Parser
}

// NewSigner makes Tokens from a secret of at least MinSecret bytes. ttl is the
// life of a token that is signed without one.
func NewSigner(secret []byte, ttl time.Duration) (*Tokens, error) {
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
		secret: secret, ttl: ttl, now: now,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithStrictDecoding(), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
			jwt.WithLeeway(clockSkew), jwt.WithTimeFunc(now),
		),
	}, nil
}

// claims is what our tokens carry.
type claims struct {
	Role string `json:"role"`
	jwt.RegisteredClaims
}

// Sign makes a token that says that its bearer is the user, in the role, and says
// when it expires. A ttl of 0 is the signer's own.
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
	// A token counts in whole seconds: rounded up, it never lives shorter than it says.
	expires := now.Add((ttl + time.Second - 1).Truncate(time.Second))
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{role, jwt.RegisteredClaims{
		Subject: strconv.FormatInt(userID, 10), IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
	}}).SignedString(t.secret)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a token: %w", err)
	}
	return text, expires, nil
}

// Verify says whose token it is. Its errors are for the log, not for the client.
func (t *Tokens) Verify(token string) (Identity, error) {
	who, _, err := t.verify(token)
	return who, err
}

// verify also says when the token expires.
func (t *Tokens) verify(token string) (Identity, time.Time, error) {
	if len(token) > maxToken {
		return Identity{}, time.Time{}, errors.New("the token is too long")
	}
	var c claims
	parsed, err := t.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return t.secret, nil })
	if err != nil {
		return Identity{}, time.Time{}, fmt.Errorf("parse the token: %w", err)
	}
	if _, critical := parsed.Header["crit"]; critical {
		return Identity{}, time.Time{}, errors.New("the token has critical extensions")
	}
	// The leeway is for clocks that run ahead of ours. It does not lengthen a life.
	expires := c.ExpiresAt.Time
	if !t.now().Before(expires) {
		return Identity{}, time.Time{}, jwt.ErrTokenExpired
	}
	id, ok := parseID(c.Subject)
	if !ok {
		return Identity{}, time.Time{}, errors.New("the token's subject is not a user id")
	}
	if c.Role != RoleUser && c.Role != RoleAdmin {
		return Identity{}, time.Time{}, errors.New("the token's role is unknown")
	}
	return Identity{UserID: id, Role: c.Role}, expires, nil
}
