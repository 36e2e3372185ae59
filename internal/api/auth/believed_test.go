package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

func TestVerify_ForeignToken_IsRefused(t *testing.T) {
	tokens := tokensOf(t, Options{Secrets: []Secret{{Secret: testSecret}}})
	now := tokenTime.Unix()
	good := func() jwt.MapClaims { return jwt.MapClaims{"sub": "42", "role": "user", "exp": now + 60} }
	with := func(name string, value any) jwt.MapClaims {
		c := good()
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return c
	}
	hs256 := func(c jwt.MapClaims) string { return signAs(t, jwt.SigningMethodHS256, testSecret, nil, c) }
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	whole := hs256(good())
	cut := strings.Split(whole, ".")
	garbled := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"42","role":"user","exp":`))
	usual := `{"alg":"HS256","typ":"JWT"}`
	// Trailing spaces leave spare bits in the last letter, and B has one of them set.
	spare := fmt.Sprintf(`{"sub":"42","role":"user","exp":%d}     `, now+60)
	spare = base64.RawURLEncoding.EncodeToString([]byte(spare[:len(spare)/3*3-2]))
	require.True(t, strings.HasSuffix(spare, "A"))
	written := func(claims string) string {
		return forge(usual, base64.RawURLEncoding.EncodeToString([]byte(claims)), "ours")
	}

	for name, tc := range map[string]struct {
		token string
		valid bool
	}{
		"a good one":                       {whole, true},
		"one without iat and nbf":          {hs256(good()), true},
		"one from a clock 4 s ahead":       {hs256(with("iat", now+4)), true},
		"one from a clock 10 s ahead":      {hs256(with("iat", now+10)), false},
		"one that is not valid yet":        {hs256(with("nbf", now+10)), false},
		"one that expires now":             {hs256(with("exp", now)), false},
		"one that expired":                 {hs256(with("exp", now-1)), false},
		"one that never expires":           {hs256(with("exp", nil)), false},
		"one whose expiry is a text":       {hs256(with("exp", "tomorrow")), false},
		"one without a subject":            {hs256(with("sub", nil)), false},
		"a subject that is a number":       {hs256(with("sub", 42)), false},
		"a subject with a zero in front":   {hs256(with("sub", "042")), false},
		"the subject zero":                 {hs256(with("sub", "0")), false},
		"a negative subject":               {hs256(with("sub", "-42")), false},
		"a subject above 63 bits":          {hs256(with("sub", "9223372036854775808")), false},
		"one without a role":               {hs256(with("role", nil)), false},
		"an unknown role":                  {hs256(with("role", "root")), false},
		"a role in capitals":               {hs256(with("role", "Admin")), false},
		"no algorithm":                     {signAs(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, good()), false},
		"no algorithm, in capitals":        {forge(`{"alg":"NONE","typ":"JWT"}`, cut[1], ""), false},
		"HS384 with the right secret":      {signAs(t, jwt.SigningMethodHS384, testSecret, nil, good()), false},
		"HS512 with the right secret":      {signAs(t, jwt.SigningMethodHS512, testSecret, nil, good()), false},
		"RS256":                            {signAs(t, jwt.SigningMethodRS256, private, nil, good()), false},
		"RS256 in name, HS256 in fact":     {forge(`{"alg":"RS256","typ":"JWT"}`, cut[1], "ours"), false},
		"a critical extension":             {signAs(t, jwt.SigningMethodHS256, testSecret, map[string]any{"crit": []string{"b64"}}, good()), false},
		"another secret":                   {signAs(t, jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), nil, good()), false},
		"no signature":                     {cut[0] + "." + cut[1] + ".", false},
		"the usual header said otherwise":  {forge(`{"typ":"JWT", "alg":"HS256", "kid":"1"}`, cut[1], "ours"), true},
		"another header, another secret":   {signAs(t, jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), map[string]any{"kid": "1"}, good()), false},
		"another header that has expired":  {signAs(t, jwt.SigningMethodHS256, testSecret, map[string]any{"kid": "1"}, with("exp", now)), false},
		"no header":                        {forge("", cut[1], "ours"), false},
		"a payload that breaks off":        {forge(usual, garbled, "ours"), false},
		"a payload that is not base64":     {forge(usual, cut[1]+"*", "ours"), false},
		"a payload with a dot in it":       {forge(usual, cut[1]+".", "ours"), false},
		"a payload with bits to spare":     {forge(usual, spare[:len(spare)-1]+"B", "ours"), false},
		"the same with none of them":       {forge(usual, spare, "ours"), true},
		"an expiry with a fraction":        {hs256(with("exp", float64(now)+60.5)), true},
		"an expiry with an exponent":       {written(`{"sub":"42","role":"user","exp":4e9}`), true},
		"an expiry that is a difference":   {written(`{"sub":"42","role":"user","exp":4000000000-1}`), false},
		"an expiry in hexadecimal":         {written(`{"sub":"42","role":"user","exp":0xffffffff}`), false},
		"an expiry above every number":     {written(`{"sub":"42","role":"user","exp":4e999}`), false},
		"an expiry that is infinite":       {written(`{"sub":"42","role":"user","exp":Inf}`), false},
		"an expiry that is null":           {written(`{"sub":"42","role":"user","exp":null}`), false},
		"an expiry as a text":              {written(`{"sub":"42","role":"user","exp":"4000000000"}`), false},
		"the start of its life as a text":  {hs256(with("nbf", "1")), false},
		"its making as a text":             {hs256(with("iat", "1")), false},
		"a claim of another's":             {hs256(with("aud", []any{map[string]any{"sub": "41"}})), true},
		"a claim of another's, broken":     {written(`{"aud":[1-2],"sub":"42","role":"user","exp":4000000000}`), false},
		"a claim that is there twice":      {written(`{"sub":"041","sub":"42","role":"user","exp":4000000000}`), true},
		"twice, the last one wrong":        {written(`{"sub":"42","sub":"042","role":"user","exp":4000000000}`), false},
		"twice, the first one a number":    {written(`{"sub":42,"sub":"42","role":"user","exp":4000000000}`), false},
		"a subject in capitals":            {written(`{"SUB":"42","role":"user","exp":4000000000}`), false},
		"a subject written with escapes":   {written(`{"\u0073ub":"\u00342","role":"user","exp":4000000000}`), true},
		"a subject that breaks off":        {written(`{"role":"user","exp":4000000000,"sub":"42`), false},
		"claims without a comma":           {written(`{"sub":"42" "role":"user","exp":4000000000}`), false},
		"claims with a comma too many":     {written(`{"sub":"42","role":"user","exp":4000000000,}`), false},
		"claims with something behind":     {written(`{"sub":"42","role":"user","exp":4000000000}{}`), false},
		"claims with spaces around":        {written(` { "sub" : "42", "role":"user" ,"exp": 4000000000 } `), true},
		"claims that are a list":           {written(`["42","user",4000000000]`), false},
		"claims that are null":             {written(`null`), false},
		"no claims":                        {written(`{}`), false},
		"a header alone":                   {cut[0], false},
		"a header and a dot":               {cut[0] + ".", false},
		"a header and its signature":       {strings.Replace(forge(usual, "", "ours"), "..", ".", 1), false},
		"a signature with a line's end":    {whole + "\n", false},
		"a signature that goes on":         {whole + "AAAA", false},
		"two parts":                        {cut[0] + "." + cut[1], false},
		"four parts":                       {whole + ".x", false},
		"a signature with a changed end":   {whole[:len(whole)-1] + string(whole[len(whole)-1]^1), false},
		"a signature that is padded":       {whole + "=", false},
		"nothing":                          {"", false},
		"one that is longer than any ours": {hs256(with("pad", strings.Repeat("x", maxToken))), false},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the first time is not remembered
				who, err := tokens.Verify(tc.token)
				require.Equal(t, tc.valid, err == nil, "%v", err)
				if tc.valid {
					require.Equal(t, Identity{42, RoleUser}, who)
				}
			}
		})
	}
}

func signAs(t testing.TB, m jwt.SigningMethod, key any, header map[string]any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(m, c)
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

// forge builds a token by hand, signed with our secret or not at all.
func forge(header, payload, signature string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + payload
	if signature == "" {
		return text + "."
	}
	mac := hmac.New(sha256.New, testSecret)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func TestTokens_InvalidSecretOrClaims_ReturnsError(t *testing.T) {
	_, err := NewTokens(testSecret[:31], time.Hour)
	require.ErrorContains(t, err, "at least 32 bytes")
	_, err = NewTokens(testSecret, 0)
	require.Error(t, err)
	signer, err := NewTokens(testSecret, time.Hour)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		id   int64
		role string
		ttl  time.Duration
	}{
		"no user": {0, RoleUser, 0}, "a negative user": {-1, RoleUser, 0},
		"no role": {1, "", 0}, "a negative life": {1, RoleUser, -1},
	} {
		_, _, err := signer.Sign(tc.id, tc.role, tc.ttl)
		require.Error(t, err, name)
	}
	token, expires, err := signer.Sign(9223372036854775807, RoleAdmin, 1500*time.Millisecond)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(1500*time.Millisecond), expires, time.Second)
	who, err := signer.Verify(token)
	require.NoError(t, err)
	require.Equal(t, Identity{9223372036854775807, RoleAdmin}, who)
}
