package attack_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"
)

// The secrets of the servers, which nothing may show.
const (
	secret    = "Kd8-attack-Zq41-corpus-Wn07-secret-Yb55"
	oldSecret = "Jt3-attack-Lm92-corpus-Ux18-retired-Pe6"
)

// keys sign what an attacker would like to be believed, and the one that is in the key set.
type keys struct {
	login, other ed25519.PrivateKey
	rsa          *rsa.PrivateKey
}

func newKeys(t *testing.T) keys {
	t.Helper()
	var k keys
	var err error
	_, k.login, err = ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	_, k.other, err = ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	const bits = 2048
	k.rsa, err = rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	return k
}

// keySet is the file of public keys that the server trusts.
func (k keys) keySet() string {
	x, n := encode(k.login.Public().(ed25519.PublicKey)), encode(k.rsa.N.Bytes())
	return `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"login","use":"sig","alg":"EdDSA","x":"` + x + `"},` +
		`{"kty":"RSA","kid":"rsa","use":"sig","alg":"RS256","e":"AQAB","n":"` + n + `"}]}`
}

var moment = regexp.MustCompile(`@(-?\d+)([smhd])`)

// moments replaces @1h by the second in an hour, and @-5m by that five minutes ago.
func moments(text string) string {
	unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	return moment.ReplaceAllStringFunc(text, func(at string) string {
		part := moment.FindStringSubmatch(at)
		n, _ := strconv.Atoi(part[1])
		return strconv.FormatInt(time.Now().Add(time.Duration(n)*unit[part[2]]).Unix(), 10)
	})
}

func unsigned(header, claims string) string {
	return encode([]byte(header)) + "." + encode([]byte(moments(claims)))
}

func seal(text string, signature []byte) string { return text + "." + encode(signature) }

var encode = base64.RawURLEncoding.EncodeToString

// hs256 returns a token that is signed by a text.
func hs256(header, claims, key string) string {
	text := unsigned(header, claims)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return seal(text, mac.Sum(nil))
}

// good returns a token of the server's own.
func good(user, role string) string {
	return hs256(`{"alg":"HS256","typ":"JWT"}`, `{"role":"`+role+`","sub":"`+user+`","iat":@0s,"exp":@1h}`, secret)
}

// words are what the texts of the corpus may use.
func (k keys) words() template.FuncMap {
	ed := func(key ed25519.PrivateKey) func(header, claims string) string {
		return func(header, claims string) string {
			text := unsigned(header, claims)
			return seal(text, ed25519.Sign(key, []byte(text)))
		}
	}
	return template.FuncMap{
		"repeat":    strings.Repeat,
		"byte":      func(n byte) string { return string([]byte{n}) },
		"secret":    func() string { return secret },
		"oldSecret": func() string { return oldSecret },
		"hs256":     hs256,
		"good":      good,
		"unsigned":  func(header, claims string) string { return unsigned(header, claims) + "." },
		"login":     ed(k.login),
		"stranger":  ed(k.other),
		"publicKey": func() string { return string(k.login.Public().(ed25519.PublicKey)) },
		"rs256": func(header, claims string) (string, error) {
			text := unsigned(header, claims)
			sum := sha256.Sum256([]byte(text))
			signature, err := rsa.SignPKCS1v15(rand.Reader, k.rsa, crypto.SHA256, sum[:])
			return seal(text, signature), err
		},
		"purchaseKey": func() string {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte("seckill purchase tokens"))
			return string(mac.Sum(nil))
		},
		"cut": func(n int, text string) string { return text[:len(text)-n] },
		"flip": func(part int, token string) string { // the first letter of a part
			parts := strings.Split(token, ".")
			first := byte('A')
			if parts[part][0] == 'A' {
				first = 'B'
			}
			parts[part] = string(first) + parts[part][1:]
			return strings.Join(parts, ".")
		},
	}
}
