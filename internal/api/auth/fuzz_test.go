package auth

import (
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func FuzzClaims_AnyJSON_AreReadLikeEncodingJSONOrRefused(f *testing.F) {
	for _, s := range []string{
		`{"role":"user","sub":"42","exp":1893456000,"iat":1893452400,"nbf":1893452400.5}`, `{"exp":-1e-3}`, `{"exp":4-2}`,
		`{"exp":1e999}`, `{"exp":01}`, `{"exp":"1"}`, `{"exp":null}`, `{"sub":"\ud800"}`, `{"\u0073ub":"1"}`, `{"SUB":"1"}`,
		`{"sub":1,"sub":"2"}`, `{"sub":"1","sub":"2"}`, `{"x":[{}]}`, `{"x":tru}`, `{}{}`, `{},`, ` {} `, `[]`, `null`, `{"sub":"`,
		"{\"sub\":\"\xff\"}", "{\"sub\":\"\n\"}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c claims
		if c.UnmarshalJSON([]byte(s)) != nil {
			return
		}
		var all map[string]json.RawMessage // a map compares names exactly, a struct does not
		if err := json.Unmarshal([]byte(s), &all); err != nil {
			t.Fatalf("%q was accepted, and is %v", s, err)
		}
		var want claims
		for name, into := range map[string]any{
			"role": &want.Role, "sub": &want.Subject, "exp": &want.ExpiresAt, "iat": &want.IssuedAt, "nbf": &want.NotBefore,
		} {
			if value, ok := all[name]; ok && json.Unmarshal(value, into) != nil {
				t.Fatalf("%q was accepted with its %s", s, name)
			}
		}
		if strings.ContainsRune(want.Role+want.Subject, '\ufffd') {
			return // what is not a string is an unknown role, or no user id, to both
		}
		if c != want {
			t.Fatalf("%q was read as %+v", s, c)
		}
	})
}

// Only a token that was signed here is accepted, and it is read as it was signed.
func FuzzVerify_AnyToken_AcceptsOnlyOwnSignature(f *testing.F) {
	ours, err := NewTokens([]byte(strings.Repeat("s", MinSecret)), time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	others, err := NewTokens([]byte(strings.Repeat("o", MinSecret)), time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("a.b.c", int64(7), true)
	f.Add("eyJhbGciOiJub25lIn0.eyJzdWIiOiI3Iiwicm9sZSI6ImFkbWluIn0.", int64(1), false)
	f.Add("", int64(-1), true)
	f.Add("..", int64(9223372036854775807), false)
	f.Fuzz(func(t *testing.T, text string, user int64, admin bool) {
		if who, err := ours.Verify(text); err == nil {
			t.Fatalf("%q was believed to be %+v", text, who)
		}
		role := RoleUser
		if admin {
			role = RoleAdmin
		}
		token, _, err := ours.Sign(user, role, 0)
		if (err == nil) != (user > 0) {
			t.Fatalf("user %d was signed with %v", user, err)
		}
		if err != nil {
			return
		}
		if who, err := ours.Verify(token); err != nil || who != (Identity{UserID: user, Role: role}) {
			t.Fatalf("%+v, %v", who, err)
		}
		if _, err := others.Verify(token); err == nil {
			t.Fatal("another secret's token was believed")
		}
		if n := len(text); n > 0 && text != token {
			at := n % len(token)
			if _, err := ours.Verify(token[:at] + text + token[at:]); err == nil && !strings.Contains(text, " ") {
				t.Fatalf("%q was believed with %q in it", token, text)
			}
		}
	})
}

// A set is taken with keys that verify and nothing else, or it changes nothing.
func FuzzKeySet_AnyText_IsTakenWholeOrRefused(f *testing.F) {
	for _, s := range []string{
		`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},{"kty":"oct","kid":"b","k":"YQ"}]}`,
		`{"keys":[{"kty":"oct","k":"YQ"}]}`, `{"keys":[{"kty":"RSA","e":"AQAB","n":"AQ"}]}`, `{"keys":[{"kty":"EC"}]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}`, `{"keys":[null]}`, `{"keys":{}}`, `{}`, `[]`, ``,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens, err := NewTokens([]byte(strings.Repeat("s", MinSecret)), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		before := tokens.public.Load()
		if tokens.SetPublicKeys([]byte(s)) != nil {
			if tokens.public.Load() != before {
				t.Fatalf("%q was refused, and changed the keys", s)
			}
			return
		}
		after := tokens.public.Load()
		if len(after.byID) == 0 || len(after.byID) > maxPublicKeys || len(after.byID) > 1 && after.only != nil {
			t.Fatalf("%q was taken as %d keys", s, len(after.byID))
		}
		for id, k := range after.byID {
			switch key := k.key.(type) {
			case ed25519.PublicKey:
				if k.alg != "EdDSA" || len(key) != ed25519.PublicKeySize {
					t.Fatalf("%q: %q is for %s", s, id, k.alg)
				}
			case *rsa.PublicKey:
				if k.alg != "RS256" || key.N.BitLen() < minRSABits {
					t.Fatalf("%q: %q is for %s", s, id, k.alg)
				}
			default:
				t.Fatalf("%q: %q is a %T", s, id, key)
			}
		}
	})
}

// Each user of a list that is taken is denied, and a list that is refused changes nothing.
func FuzzDenyList_AnyText_IsTakenWholeOrRefused(f *testing.F) {
	for _, s := range []string{"7\n8\n", "# nobody\n\n 7 # a thief\r\n", "7 8", "-1", "07", "x", "\x00", "9223372036854775808\n", "7\r8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens, err := NewTokens([]byte(strings.Repeat("s", MinSecret)), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if tokens.Deny([]byte(s)) != nil {
			if tokens.denied.Load() != nil {
				t.Fatalf("%q was refused, and denies", s)
			}
			return
		}
		denied := *tokens.denied.Load()
		for line := range strings.SplitSeq(s, "\n") {
			text, _, _ := strings.Cut(line, "#")
			if id, ok := parseUserID(strings.TrimSpace(text)); ok {
				if _, is := denied[id]; !is {
					t.Fatalf("%q does not deny %d", s, id)
				}
			} else if strings.TrimSpace(text) != "" {
				t.Fatalf("%q was taken with %q in it", s, text)
			}
		}
	})
}

func FuzzPrivateKey_AnyText_SignsOrIsRefused(f *testing.F) {
	for _, s := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := privateSigner(text, "a"); err == nil && (s.method == nil || s.key == nil) {
			t.Fatalf("%q signs with nothing", text)
		}
	})
}
