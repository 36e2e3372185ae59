package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// issuer is a login with private keys.
type issuer struct {
	ed   ed25519.PrivateKey
	rsa  *rsa.PrivateKey
	keys jose.JSONWebKeySet
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return &issuer{private, other, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: public, KeyID: "ed", Algorithm: "EdDSA", Use: "sig"}, {Key: &other.PublicKey, KeyID: "rsa"},
	}}}
}

func (i *issuer) set(t testing.TB, keys ...jose.JSONWebKey) []byte {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	require.NoError(t, err)
	return text
}

func TestVerify_PublicKeys_AcceptTheirTokens(t *testing.T) {
	i := newIssuer(t)
	other := newIssuer(t)
	tokens := tokensOf(t, Options{})
	ed := func(key ed25519.PrivateKey, header map[string]any) string {
		return signAs(t, jwt.SigningMethodEdDSA, key, header, claimsWith(nil))
	}
	rs256 := func(key *rsa.PrivateKey, header map[string]any) string {
		return signAs(t, jwt.SigningMethodRS256, key, header, claimsWith(nil))
	}
	valid := func(text string) bool { _, err := tokens.Verify(text); return err == nil }
	require.False(t, valid(ed(i.ed, kid("ed"))), "there is no key yet")
	require.NoError(t, tokens.SetPublicKeys(i.set(t, i.keys.Keys...)))
	public, err := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		token string
		valid bool
	}{
		"EdDSA":                          {ed(i.ed, kid("ed")), true},
		"RS256":                          {rs256(i.rsa, kid("rsa")), true},
		"no kid among several keys":      {ed(i.ed, nil), false},
		"an unknown kid":                 {ed(i.ed, kid("x")), false},
		"a kid that is a number":         {ed(i.ed, kid(1)), false},
		"another's key":                  {ed(other.ed, kid("ed")), false},
		"another's RSA key":              {rs256(other.rsa, kid("rsa")), false},
		"the kid of the other key":       {ed(i.ed, kid("rsa")), false},
		"the kid of the other, of RSA":   {rs256(i.rsa, kid("ed")), false},
		"RS512":                          {signAs(t, jwt.SigningMethodRS512, i.rsa, kid("rsa"), claimsWith(nil)), false},
		"PS256":                          {signAs(t, jwt.SigningMethodPS256, i.rsa, kid("rsa"), claimsWith(nil)), false},
		"no algorithm":                   {signAs(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid("ed"), claimsWith(nil)), false},
		"HS256 with the public key":      {signAs(t, jwt.SigningMethodHS256, []byte(i.ed.Public().(ed25519.PublicKey)), kid("ed"), claimsWith(nil)), false},
		"HS256 with the public RSA key":  {signAs(t, jwt.SigningMethodHS256, public, kid("rsa"), claimsWith(nil)), false},
		"HS256 with that, written":       {signAs(t, jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), kid("rsa"), claimsWith(nil)), false},
		"HS256 with nothing":             {signAs(t, jwt.SigningMethodHS256, []byte{}, nil, claimsWith(nil)), false},
		"one that has expired":           {signAs(t, jwt.SigningMethodEdDSA, i.ed, kid("ed"), claimsWith(jwt.MapClaims{"exp": tokenTime.Unix()})), false},
		"a critical extension":           {ed(i.ed, map[string]any{"kid": "ed", "crit": []string{"b64"}}), false},
		"a key that came with the token": {ed(other.ed, map[string]any{"kid": "ed", "jwk": map[string]string{"kty": "OKP"}}), false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.valid, valid(tc.token)) })
	}
	_, _, err = tokens.Sign(42, RoleUser, 0)
	require.ErrorContains(t, err, "no key to sign", "what verifies cannot sign")

	require.NoError(t, tokens.SetPublicKeys(i.set(t, i.keys.Keys[1])))
	require.False(t, valid(ed(i.ed, kid("ed"))), "a key that was taken out is worth nothing")
	require.True(t, valid(rs256(i.rsa, nil)), "of one key a token needs no kid")
}

func TestKeySet_Invalid_KeepsEarlierOne(t *testing.T) {
	i := newIssuer(t)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	ed := i.keys.Keys[0]
	tokens := tokensOf(t, Options{})
	require.NoError(t, tokens.SetPublicKeys(i.set(t, ed)))
	text := signAs(t, jwt.SigningMethodEdDSA, i.ed, kid("ed"), claimsWith(nil))
	many := make([]jose.JSONWebKey, maxPublicKeys+1)
	for n := range many {
		many[n] = jose.JSONWebKey{Key: ed.Key, KeyID: strings.Repeat("k", n+1)}
	}
	for name, set := range map[string]string{
		"no JSON":           `{"keys":`,
		"no keys":           `{"keys":[]}`,
		"nothing":           ``,
		"a private key":     string(i.set(t, ed, jose.JSONWebKey{Key: i.ed, KeyID: "x"})),
		"a secret":          string(i.set(t, ed, jose.JSONWebKey{Key: testSecret, KeyID: "x"})),
		"two of one name":   string(i.set(t, ed, ed)),
		"one without name":  string(i.set(t, ed, jose.JSONWebKey{Key: &i.rsa.PublicKey})),
		"a short RSA key":   string(i.set(t, jose.JSONWebKey{Key: &short.PublicKey, KeyID: "x"})),
		"another curve":     string(i.set(t, jose.JSONWebKey{Key: &curve.PublicKey, KeyID: "x"})),
		"another algorithm": string(i.set(t, jose.JSONWebKey{Key: &i.rsa.PublicKey, KeyID: "x", Algorithm: "RS512"})),
		"another purpose":   string(i.set(t, jose.JSONWebKey{Key: &i.rsa.PublicKey, KeyID: "x", Use: "enc"})),
		"too many":          string(i.set(t, many...)),
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, tokens.SetPublicKeys([]byte(set)))
			_, err := tokens.Verify(text)
			require.NoError(t, err)
		})
	}
	require.NoError(t, tokens.SetPublicKeys(i.set(t, jose.JSONWebKey{Key: &curve.PublicKey, KeyID: "x"}, ed)), "a key of another kind is passed over")
	require.NoError(t, tokens.SetPublicKeys([]byte(`{"keys":[{"kty":"AKP","kid":"x"},`+string(i.set(t, ed)[len(`{"keys":[`):]))))
}

func TestPrivateKey_EachAlgorithm_SignsTokens(t *testing.T) {
	i := newIssuer(t)
	pemOf := func(kind string, key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	verifier := tokensOf(t, Options{Issuer: "us"})
	require.NoError(t, verifier.SetPublicKeys(i.set(t, i.keys.Keys...)))
	for id, key := range map[string][]byte{
		"ed":  pemOf("PRIVATE KEY", i.ed),
		"rsa": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(i.rsa)}),
	} {
		text, _, err := tokensOf(t, Options{Signer: key, SignerID: id, Issuer: "us"}).Sign(42, RoleAdmin, 0)
		require.NoError(t, err)
		who, err := verifier.Verify(text)
		require.NoError(t, err)
		require.Equal(t, Identity{42, RoleAdmin}, who)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for name, key := range map[string][]byte{
		"no PEM": []byte("x"), "no key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY"}), "another curve": pemOf("PRIVATE KEY", curve),
	} {
		_, err := Options{Signer: key, TTL: time.Hour}.Tokens()
		require.Error(t, err, name)
	}
}

func TestPublicKey_OtherAlgorithm_IsRefused(t *testing.T) {
	i := newIssuer(t)
	tokens := tokensOf(t, Options{})
	require.NoError(t, tokens.SetPublicKeys(i.set(t, i.keys.Keys...)))
	for id, alg := range map[string]string{"ed": "EdDSA", "rsa": "RS256"} {
		key, err := tokens.public.Load().find(alg, id)
		require.NoError(t, err)
		require.NotNil(t, key)
		for _, other := range []string{"EdDSA", "RS256", "HS256", "none", ""} {
			if other != alg {
				_, err := tokens.public.Load().find(other, id)
				require.ErrorIs(t, err, errUnknownKey)
			}
		}
	}
}

// BenchmarkVerifyByPublicKey is a token of a login, read and checked.
func BenchmarkVerifyByPublicKey(b *testing.B) {
	i, tokens := newIssuer(b), tokensOf(b, Options{})
	require.NoError(b, tokens.SetPublicKeys(i.set(b, i.keys.Keys...)))
	for name, text := range map[string]string{
		"EdDSA": signAs(b, jwt.SigningMethodEdDSA, i.ed, kid("ed"), claimsWith(nil)),
		"RS256": signAs(b, jwt.SigningMethodRS256, i.rsa, kid("rsa"), claimsWith(nil)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tokens.Verify(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
