package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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

// Options are the keys of tokens, and the conditions that a well-signed token must meet.
type Options struct {
	// Secrets verify tokens (HS256), and the first signs them. Without one, all tokens are
	// verified by public keys.
	Secrets []Secret
	// Signer is a private key in PEM that signs instead of the first secret: Ed25519 (EdDSA) or
	// RSA (RS256). SignerID is the kid of its tokens.
	Signer   []byte
	SignerID string
	// SignNothing leaves tokens to be signed by others: the secrets only verify.
	SignNothing bool
	// Issuer and Audience must be in a token, unless they are empty.
	Issuer, Audience string
	TTL              time.Duration    // of tokens that are signed without one
	MaxTTL           time.Duration    // the longest life of a token; 0 is no limit
	Now              func() time.Time // nil is time.Now
}

// Secret is a secret of at least MinSecret bytes. ID is the kid of its tokens, or empty.
type Secret struct {
	ID     string
	Secret []byte
}

// Tokens signs and verifies bearer tokens: JWT, with HS256 by its secrets, and with EdDSA and RS256
// by the public keys of SetPublicKeys. The key decides which algorithm a token may have.
type Tokens struct {
	o      Options
	secret []secretKey
	named  bool // a secret has an ID, so that a kid is looked for
	signer signer
	parser *jwt.Parser
	public atomic.Pointer[publicKeys]
	denied atomic.Pointer[map[int64]struct{}]
}

// secretKey is a secret in use.
type secretKey struct {
	id     string
	secret []byte
	header string // the beginning of a token that was signed here, with its dot
	hmacs  *hmacPool
}

// signer signs with one key.
type signer struct {
	method jwt.SigningMethod // nil without a key
	id     string
	key    any
}

// NewTokens returns Tokens of one secret of at least MinSecret bytes. Tokens signed without a ttl
// live for ttl.
func NewTokens(secret []byte, ttl time.Duration) (*Tokens, error) {
	return Options{Secrets: []Secret{{Secret: secret}}, TTL: ttl}.Tokens()
}

// Tokens returns Tokens with these options.
func (o Options) Tokens() (*Tokens, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TTL <= 0 {
		return nil, errors.New("the life of a token must be above zero")
	}
	t := &Tokens{o: o, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{
			jwt.SigningMethodHS256.Alg(), jwt.SigningMethodEdDSA.Alg(), jwt.SigningMethodRS256.Alg(),
		}),
		jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation(), // claims.validate does it
	)}
	for _, s := range o.Secrets {
		if len(s.Secret) < MinSecret {
			return nil, fmt.Errorf("the secret that signs tokens must have at least %d bytes", MinSecret)
		}
		t.secret = append(t.secret, secretKey{id: s.ID, secret: s.Secret, header: headerOf(s.ID), hmacs: newHMACPool(s.Secret)})
		t.named = t.named || s.ID != ""
	}
	switch {
	case len(o.Signer) > 0:
		var err error
		if t.signer, err = privateSigner(o.Signer, o.SignerID); err != nil {
			return nil, err
		}
	case len(t.secret) > 0 && !o.SignNothing:
		t.signer = signer{jwt.SigningMethodHS256, t.secret[0].id, t.secret[0].secret}
	}
	return t, nil
}

// Sign returns a token for the user in the role, and its expiry. A ttl of 0 stands for the default.
func (t *Tokens) Sign(userID int64, role string, ttl time.Duration) (string, time.Time, error) {
	switch {
	case t.signer.method == nil:
		return "", time.Time{}, errors.New("there is no key to sign a token with")
	case userID <= 0:
		return "", time.Time{}, errors.New("a user id must be above zero")
	case role != RoleUser && role != RoleAdmin:
		return "", time.Time{}, fmt.Errorf("a role is %s or %s", RoleUser, RoleAdmin)
	case ttl < 0:
		return "", time.Time{}, errors.New("the life of a token must be above zero")
	case ttl == 0:
		ttl = t.o.TTL
	}
	if t.o.MaxTTL > 0 && ttl > t.o.MaxTTL {
		return "", time.Time{}, fmt.Errorf("the life of a token must not exceed %s", t.o.MaxTTL)
	}
	now := t.o.Now().UTC().Truncate(time.Second)
	// A token counts whole seconds: rounded up, it never expires early.
	expires := now.Add((ttl + time.Second - 1).Truncate(time.Second))
	token := jwt.NewWithClaims(t.signer.method, &claims{
		Role: role, Subject: strconv.FormatInt(userID, 10), IssuedAt: float64(now.Unix()), ExpiresAt: float64(expires.Unix()),
		Issuer: t.o.Issuer, Audience: t.o.Audience,
	})
	if t.signer.id != "" {
		token.Header["kid"] = t.signer.id
	}
	text, err := token.SignedString(t.signer.key)
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
	c := claims{Issuer: t.o.Issuer, Audience: t.o.Audience}
	if err := t.read(token, &c); err != nil {
		return Identity{}, fmt.Errorf("the token: %w", err)
	}
	if err := c.validate(t.o.Now(), t.o.MaxTTL); err != nil {
		return Identity{}, fmt.Errorf("the token: %w", err)
	}
	id, ok := parseUserID(c.Subject)
	if !ok {
		return Identity{}, errors.New("the token's subject is not a user id")
	}
	if c.Role != RoleUser && c.Role != RoleAdmin {
		return Identity{}, errors.New("the token's role is unknown")
	}
	if denied := t.denied.Load(); denied != nil {
		if _, is := (*denied)[id]; is {
			return Identity{}, errors.New("the token's user is denied")
		}
	}
	return Identity{UserID: id, Role: c.Role}, nil
}

var strictBase64 = base64.RawURLEncoding.Strict()

// headerOf returns the beginning of a token that was signed here with such a key, with its dot.
func headerOf(id string) string {
	text := `{"alg":"HS256","typ":"JWT"}`
	if id != "" {
		kid, err := json.Marshal(id)
		if err != nil {
			panic(err) // a text
		}
		text = `{"alg":"HS256","kid":` + string(kid) + `,"typ":"JWT"}`
	}
	return strictBase64.EncodeToString([]byte(text)) + "."
}

// read checks the signature and reads the claims. The header of our own tokens is known and not
// parsed; another issuer's may spell the same differently, or be of another key.
func (t *Tokens) read(token string, c *claims) (err error) {
	for i := range t.secret {
		// Without a kid a token may be of any of several secrets.
		if s := &t.secret[i]; (s.id != "" || len(t.secret) == 1) && strings.HasPrefix(token, s.header) {
			return s.read(token, c)
		}
	}
	*c, err = t.parse(token, *c)
	return err
}

// parse reads a token of any header. Its claims are apart from those above, which stay on the stack.
func (t *Tokens) parse(token string, c claims) (claims, error) {
	parsed, err := t.parser.ParseWithClaims(token, &c, t.keyOf)
	if err != nil {
		return claims{}, fmt.Errorf("parse: %w", err)
	}
	if _, critical := parsed.Header["crit"]; critical {
		return claims{}, errors.New("the token has critical extensions")
	}
	return c, nil
}

// read parses nothing before the signature is verified.
func (s *secretKey) read(token string, c *claims) error {
	v := s.hmacs.get()
	defer s.hmacs.put(v)
	end := strings.LastIndexByte(token, '.')
	if end < len(s.header) || !v.made(token[end+1:], token[:end]) {
		return jwt.ErrTokenSignatureInvalid
	}
	text, err := v.decode(token[len(s.header):end])
	if err != nil {
		return err
	}
	return c.UnmarshalJSON(text)
}

// parseUserID reads a user id: a decimal number above zero in its only spelling, without a sign and
// leading zeros.
func parseUserID(s string) (int64, bool) {
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil && s[0] >= '1'
}

// types are the values of typ that the header of a token may have.
var types = []string{"jwt", "at+jwt", "application/at+jwt"}

// keyOf returns the keys that a token may have been signed with: of its algorithm, and the one that
// it names, if it does.
func (t *Tokens) keyOf(token *jwt.Token) (any, error) {
	if typ, there := token.Header["typ"]; there {
		if text, ok := typ.(string); !ok || !slices.Contains(types, strings.ToLower(text)) {
			return nil, errors.New("the token is of another type")
		}
	}
	kid, named := token.Header["kid"]
	id, ok := kid.(string)
	if named && !ok {
		return nil, errors.New("the token's kid is no text")
	}
	if token.Method.Alg() != jwt.SigningMethodHS256.Alg() {
		return t.public.Load().find(token.Method.Alg(), id)
	}
	var keys jwt.VerificationKeySet
	for _, s := range t.secret {
		if !t.named || !named || s.id == id {
			keys.Keys = append(keys.Keys, s.secret)
		}
	}
	if len(keys.Keys) == 0 {
		return nil, errUnknownKey
	}
	return keys, nil
}

var errUnknownKey = errors.New("the token's key is not known")
