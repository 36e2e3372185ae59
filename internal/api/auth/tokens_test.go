package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

var (
	tokenTime   = time.Date(2030, 1, 31, 17, 0, 0, 0, time.UTC)
	testSecret  = []byte("a secret of more than thirty-two bytes")
	olderSecret = []byte(strings.Repeat("an older one, ", 3))
)

func tokensOf(t testing.TB, o Options) *Tokens {
	t.Helper()
	o.TTL, o.Now = time.Hour, func() time.Time { return tokenTime }
	tokens, err := o.Tokens()
	require.NoError(t, err)
	return tokens
}

// claimsWith are good claims with some changes; nil removes one.
func claimsWith(changes jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "42", "role": "user", "exp": tokenTime.Unix() + 60}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func kid(id any) map[string]any { return map[string]any{"kid": id} }

func TestVerify_IssuerAudienceLifetime_MustMatch(t *testing.T) {
	tokens := tokensOf(t, Options{
		Secrets: []Secret{{Secret: testSecret}}, Issuer: "https://login.example", Audience: "seckill", MaxTTL: 2 * time.Hour,
	})
	now := tokenTime.Unix()
	good := jwt.MapClaims{"iss": "https://login.example", "aud": "seckill"}
	with := func(name string, value any) jwt.MapClaims {
		c := claimsWith(good)
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return c
	}
	for name, tc := range map[string]struct {
		claims jwt.MapClaims
		valid  bool
	}{
		"a good one":                          {claimsWith(good), true},
		"of several audiences":                {with("aud", []string{"shop", "seckill"}), true},
		"of other audiences":                  {with("aud", []string{"shop", "seckill2"}), false},
		"of another audience":                 {with("aud", "shop"), false},
		"of no audience":                      {with("aud", nil), false},
		"of an empty list of audiences":       {with("aud", []string{}), false},
		"of an audience that is a number":     {with("aud", 1), false},
		"of audiences that are numbers":       {with("aud", []any{"seckill", 1}), false},
		"of another issuer":                   {with("iss", "https://login.example/"), false},
		"of no issuer":                        {with("iss", nil), false},
		"of an issuer that is a list":         {with("iss", []string{"https://login.example"}), false},
		"of the longest life":                 {with("exp", now+7200), true},
		"of a hundred years":                  {with("exp", now+100*365*86400), false},
		"of a second too long, with its skew": {with("exp", now+7206), false},
		"that was made long ago":              {func() jwt.MapClaims { c := with("iat", now-7200); return c }(), false},
		"that was made not long ago":          {with("iat", now-7100), true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, header := range []map[string]any{nil, {"x": 1}} { // the way of our own tokens, and the other
				_, err := tokens.Verify(signAs(t, jwt.SigningMethodHS256, testSecret, header, tc.claims))
				require.Equal(t, tc.valid, err == nil, "%v", err)
			}
		})
	}
	text, _, err := tokens.Sign(7, RoleUser, 0)
	require.NoError(t, err)
	who, err := tokens.Verify(text)
	require.NoError(t, err, "its own have all of it")
	require.Equal(t, Identity{7, RoleUser}, who)
	_, _, err = tokens.Sign(7, RoleUser, 3*time.Hour)
	require.ErrorContains(t, err, "must not exceed 2h")
}

func TestSecrets_Several_FirstSignsAllVerify(t *testing.T) {
	before := tokensOf(t, Options{Secrets: []Secret{{ID: "1", Secret: olderSecret}}})
	during := tokensOf(t, Options{Secrets: []Secret{{ID: "2", Secret: testSecret}, {ID: "1", Secret: olderSecret}}})
	after := tokensOf(t, Options{Secrets: []Secret{{ID: "2", Secret: testSecret}}})
	valid := func(tokens *Tokens, text string) bool {
		_, err := tokens.Verify(text)
		return err == nil
	}
	old, _, err := before.Sign(42, RoleUser, 0)
	require.NoError(t, err)
	newer, _, err := during.Sign(42, RoleUser, 0)
	require.NoError(t, err)
	require.True(t, valid(during, old), "who is logged in stays so")
	require.True(t, valid(after, newer))
	require.False(t, valid(after, old), "a secret that was taken out is worth nothing")
	require.False(t, valid(before, newer))

	hs256 := func(secret []byte, header map[string]any) string {
		return signAs(t, jwt.SigningMethodHS256, secret, header, claimsWith(nil))
	}
	require.True(t, valid(during, hs256(olderSecret, nil)), "without a kid every secret is tried")
	require.True(t, valid(during, hs256(testSecret, nil)))
	require.False(t, valid(during, hs256(olderSecret, kid("2"))), "a kid names one secret")
	require.False(t, valid(during, hs256(testSecret, kid("3"))))
	require.False(t, valid(during, hs256(testSecret, kid(2))))
	require.False(t, valid(during, hs256(testSecret, map[string]any{"typ": "refresh"})))
	require.True(t, valid(during, hs256(testSecret, map[string]any{"typ": "at+jwt"})))
}

func TestVerify_DeniedUser_IsRefused(t *testing.T) {
	tokens := tokensOf(t, Options{Secrets: []Secret{{Secret: testSecret}}})
	text, _, err := tokens.Sign(42, RoleAdmin, 0)
	require.NoError(t, err)
	denied := func() bool { _, err := tokens.Verify(text); return err != nil }
	require.False(t, denied())
	require.NoError(t, tokens.Deny([]byte("7\n\n 42 # sold on\r\n")))
	require.True(t, denied())
	require.ErrorContains(t, tokens.Deny([]byte("7\nbob\n")), "line 2")
	require.True(t, denied(), "the earlier list stays")
	require.NoError(t, tokens.Deny([]byte("7\n")))
	require.False(t, denied())
}
