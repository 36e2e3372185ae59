package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// PurchaseOptions are the keys and the times of purchase tokens.
type PurchaseOptions struct {
	// Secrets verify the tokens, and the first signs them. The keys are derived from the secrets, so
	// that no purchase token is a bearer token of the same secret.
	Secrets [][]byte
	TTL     time.Duration    // after it was issued, and after the sale began, a token buys nothing
	Lead    time.Duration    // how long before the sale tokens are issued
	Now     func() time.Time // nil is time.Now
}

// PurchaseTokens issues and verifies purchase tokens: a permit for one user to buy one unit in one sale.
//
//	POST …/purchase-tokens ─▶ proof ─▶ token of user, coupon, sale, number
//	POST …/orders, Purchase-Token ─▶ is it of this user, coupon, sale, and in time ─▶ RESERVE … COMMIT
//
// The number is the name of the request, in Redis and in the database. A second request with the same
// token returns the same order, as with an idempotency key. So a token buys once without a store of its
// own, and a client may ask again after a lost answer.
//
// A purchase token stops a list of prepared requests that a client fires at the opening second, without
// having seen the page. It does not stop a program that asks for its token as the page does. The proof
// is for such a program.
type PurchaseTokens struct {
	o      PurchaseOptions
	keys   jwt.VerificationKeySet
	parser *jwt.Parser
}

// purchaseType keeps bearer and purchase tokens apart.
const purchaseType = "purchase+jwt"

// ErrPurchaseToken says that a purchase token is not good for a request. The text around it names the reason.
var ErrPurchaseToken = errors.New("auth: the purchase token is not good for this")

// purchaseClaims holds the claims of a purchase token. Subject is the user, ID the number.
type purchaseClaims struct {
	jwt.RegisteredClaims

	Coupon   int64 `json:"coupon,string"`
	BeginsAt int64 `json:"begins_at"` // of the sale, in milliseconds since 1970
}

// PurchaseTokens returns PurchaseTokens with these options.
func (o PurchaseOptions) PurchaseTokens() (*PurchaseTokens, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TTL <= 0 || len(o.Secrets) == 0 {
		return nil, errors.New("purchase tokens need a secret and a life above zero")
	}
	p := &PurchaseTokens{o: o, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation(), // the order path decides when it is too late
	)}
	for _, secret := range o.Secrets {
		if len(secret) < MinSecret {
			return nil, fmt.Errorf("the secret that signs purchase tokens must have at least %d bytes", MinSecret)
		}
		derived := hmac.New(sha256.New, secret)
		derived.Write([]byte("seckill purchase tokens")) // it never fails
		p.keys.Keys = append(p.keys.Keys, derived.Sum(nil))
	}
	return p, nil
}

// Issue returns a token for the user to buy a unit of c, and the time after which it buys nothing. It
// fails with coupon.ErrNotFound, ErrNotStarted or ErrEnded while there is nothing to buy.
func (p *PurchaseTokens) Issue(c coupon.Coupon, userID int64) (string, time.Time, error) {
	now := p.o.Now()
	if err := c.CheckPurchasable(now.Add(p.o.Lead)); err != nil && !errors.Is(err, coupon.ErrNotLoaded) {
		return "", time.Time{}, err
	}
	until := now
	if until.Before(c.BeginsAt) {
		until = c.BeginsAt
	}
	until = until.Add(p.o.TTL).UTC().Truncate(time.Second).Add(time.Second)
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, &purchaseClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: strconv.FormatInt(userID, 10), ID: rand.Text(), ExpiresAt: jwt.NewNumericDate(until),
		},
		Coupon: c.ID, BeginsAt: c.BeginsAt.UnixMilli(),
	})
	token.Header["typ"] = purchaseType
	text, err := token.SignedString(p.keys.Keys[0])
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a purchase token: %w", err)
	}
	return text, until, nil
}

// Permit sets the name of r to the token's, and the sale and the time in which r may be placed. It
// fails with ErrPurchaseToken if the token was not issued here to this user for this coupon.
func (p *PurchaseTokens) Permit(r *order.Request, token string) error {
	if len(token) > maxToken {
		return fmt.Errorf("%w: it is too long", ErrPurchaseToken)
	}
	var c purchaseClaims
	parsed, err := p.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return p.keys, nil })
	switch {
	case err != nil || parsed.Header["typ"] != purchaseType || c.ID == "" || c.ExpiresAt == nil:
		return fmt.Errorf("%w: it was not issued here", ErrPurchaseToken)
	case c.Subject != strconv.FormatInt(r.UserID, 10):
		return fmt.Errorf("%w: it is of another user", ErrPurchaseToken)
	case c.Coupon != r.CouponID:
		return fmt.Errorf("%w: it is of another coupon", ErrPurchaseToken)
	}
	r.Key = "purchase:" + c.ID
	r.Permit = order.Permit{BeginsAt: time.UnixMilli(c.BeginsAt), Until: c.ExpiresAt.Time}
	return nil
}

// Proof is given by a buyer for a purchase token.
type Proof struct {
	UserID, CouponID int64
	Address          string // of the client
	Text             string // what the client has sent, such as the response to a captcha; it may be empty
}

// Prover decides whether a buyer is given a purchase token. It returns ErrProof if not, and
// order.ErrUnavailable if it cannot tell.
type Prover interface {
	Prove(ctx context.Context, p Proof) error
}

// ErrProof says that a proof was not accepted.
var ErrProof = errors.New("auth: the proof was not accepted")
