package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/order"
)

// gate is a shop where buying needs a purchase token.
type gate struct {
	*shop
	*Server

	time time.Time
}

func newGate(t *testing.T, secrets ...string) *gate {
	t.Helper()
	g := &gate{shop: newShop()}
	g.time = g.now
	g.Server = g.serve(t, Options{Now: func() time.Time { return g.time }})
	g.o.PurchaseTokens = purchaseTokens(t, func() time.Time { return g.time }, secrets...)
	return g
}

func purchaseTokens(t *testing.T, now func() time.Time, secrets ...string) *auth.PurchaseTokens {
	t.Helper()
	o := auth.PurchaseOptions{TTL: time.Minute, Lead: 10 * time.Second, Now: now}
	for _, one := range append(secrets, strings.Repeat("s", auth.MinSecret)) {
		o.Secrets = append(o.Secrets, []byte(one))
	}
	p, err := o.PurchaseTokens()
	require.NoError(t, err)
	return p
}

// ask asks for a token of coupon 1 as user 42.
func (g *gate) ask(t *testing.T, body string) *httptest.ResponseRecorder {
	t.Helper()
	return do(t, g.Server, ask{method: "POST", path: "/api/v1/coupons/1/purchase-tokens", token: sign(t, g.Server, 42, auth.RoleUser), body: body})
}

func (g *gate) token(t *testing.T) string {
	t.Helper()
	rec := g.ask(t, "")
	require.Equal(t, 201, rec.Code, rec.Body)
	var said purchaseToken
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &said))
	return said.Token
}

// buy buys of a coupon as a user, with these headers: name, value, ….
func (g *gate) buy(t *testing.T, user int64, couponID string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return do(t, g.Server, ask{
		method: "POST", path: "/api/v1/coupons/" + couponID + "/orders", token: sign(t, g.Server, user, auth.RoleUser), header: h,
	})
}

func TestPurchase_NoOwnToken_BuysNothing(t *testing.T) {
	g := newGate(t)
	g.coupons[2] = g.coupons[1]
	mine := g.token(t)
	other := newGate(t, strings.Repeat("other", auth.MinSecret))
	bearer := sign(t, g.Server, 42, auth.RoleUser)
	for name, tc := range map[string]struct {
		user         int64
		coupon, sent string
		code, detail string
	}{
		"none":                    {42, "1", "", "purchase_token_required", "Buying needs"},
		"of another user":         {43, "1", mine, "purchase_token_invalid", "it is of another user"},
		"of another coupon":       {42, "2", mine, "purchase_token_invalid", "it is of another coupon"},
		"of another secret":       {42, "1", other.token(t), "purchase_token_invalid", "it was not issued here"},
		"a bearer token":          {42, "1", bearer, "purchase_token_invalid", "it was not issued here"},
		"changed":                 {42, "1", mine[:len(mine)-2] + "xx", "purchase_token_invalid", "it was not issued here"},
		"of no algorithm":         {42, "1", unsigned(t, "1"), "purchase_token_invalid", "it was not issued here"},
		"too long":                {42, "1", strings.Repeat("x", 2049), "purchase_token_invalid", "it is too long"},
		"no token at all":         {42, "1", "hello", "purchase_token_invalid", "it was not issued here"},
		"with an Idempotency-Key": {42, "1", mine + "|Idempotency-Key|k", "bad_request", "leave the Idempotency-Key out"},
		"twice in one request":    {42, "1", mine + "|Purchase-Token|" + mine, "bad_request", "there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var headers []string
			if tc.sent != "" {
				headers = strings.Split("Purchase-Token|"+tc.sent, "|")
			}
			rec := g.buy(t, tc.user, tc.coupon, headers...)
			require.Equal(t, tc.code, codeOf(t, rec))
			require.Contains(t, detailOf(t, rec), tc.detail)
		})
	}
	require.Empty(t, g.orders, "nothing was taken")

	first := g.buy(t, 42, "1", "Purchase-Token", mine)
	require.Equal(t, 201, first.Code)
	again := g.buy(t, 42, "1", "Purchase-Token", mine)
	require.Equal(t, first.Body.String(), again.Body.String(), "the same token is the same order")
	require.Len(t, g.orders, 1)
	require.Equal(t, 401, do(t, g.Server, ask{method: "GET", path: "/api/v1/orders", token: mine}).Code, "it logs nobody in")
}

// unsigned returns a token of user 42 that no key has signed.
func unsigned(t *testing.T, couponID string) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"sub": "42", "coupon": couponID, "jti": "x", "exp": 1 << 40})
	token.Header["typ"] = "purchase+jwt"
	text, err := token.SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	return text
}

func TestPurchaseToken_EarlierSecret_StillBuys(t *testing.T) {
	g := newGate(t)
	token := g.token(t)
	g.o.PurchaseTokens = purchaseTokens(t, func() time.Time { return g.time }, strings.Repeat("new!", auth.MinSecret))
	require.Equal(t, 201, g.buy(t, 42, "1", "Purchase-Token", token).Code)

	o := auth.PurchaseOptions{TTL: time.Minute, Secrets: [][]byte{[]byte(strings.Repeat("new!", auth.MinSecret))}}
	newest, err := o.PurchaseTokens()
	require.NoError(t, err)
	r := order.Request{UserID: 42, CouponID: 1}
	require.NoError(t, newest.Permit(&r, g.token(t)), "the first secret signs")
	require.ErrorIs(t, newest.Permit(&r, token), auth.ErrPurchaseToken)
}

// prover accepts one text.
type prover struct {
	text string
	err  error
	seen auth.Proof
}

func (p *prover) Prove(_ context.Context, proof auth.Proof) error {
	p.seen = proof
	if p.err == nil && proof.Text != p.text {
		return auth.ErrProof
	}
	return p.err
}

func TestPurchaseTokenRoute_ValidProof_IssuesToken(t *testing.T) {
	g := newGate(t)
	p := &prover{text: "a cat"}
	g.deps.Prover = p
	require.Equal(t, "proof_rejected", codeOf(t, g.ask(t, "")))
	require.Equal(t, "proof_rejected", codeOf(t, g.ask(t, `{"proof":"a dog"}`)))
	require.Equal(t, 201, g.ask(t, `{"proof":"a cat"}`).Code)
	require.Equal(t, auth.Proof{UserID: 42, CouponID: 1, Address: "192.0.2.1", Text: "a cat"}, p.seen)
	require.Equal(t, "bad_request", codeOf(t, g.ask(t, `{"cat":"a proof"}`)))
	p.err = order.ErrUnavailable
	require.Equal(t, 503, g.ask(t, `{"proof":"a cat"}`).Code)
}

func TestPurchaseTokenRoute_NotConfigured_IsNotFound(t *testing.T) {
	g := newGate(t)
	token := g.token(t)
	g.o.PurchaseTokens = nil
	require.Equal(t, "not_found", codeOf(t, g.ask(t, "")))
	require.Equal(t, "bad_request", codeOf(t, g.buy(t, 42, "1", "Purchase-Token", token)), "a client is not left to believe that it counted")
	require.Equal(t, 201, g.buy(t, 42, "1").Code)
}
