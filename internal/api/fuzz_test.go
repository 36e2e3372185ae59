package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

func FuzzAnIDHasOneSpelling(f *testing.F) {
	for _, s := range []string{"1", "9223372036854775807", "9223372036854775808", "01", "+1", "", " 1", "1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := parseID(s)
		if ok && (id <= 0 || strconv.FormatInt(id, 10) != s) {
			t.Fatalf("%q was read as %d", s, id)
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && strconv.FormatInt(n, 10) == s && !ok {
			t.Fatalf("%q was refused", s)
		}
	})
}

func FuzzABodyIsReadAsEncodingJSONReadsItOrRefused(f *testing.F) {
	for _, s := range []string{
		`{"title":"a","stock":1}`, `{"title":null}`, `{"begins_at":"2030-01-01T00:00:00Z"}`, `{}`, `{"stock":1}x`,
		`{"stock":1,"stock":2}`, `{"":0}`, `[`, `{"title":"\ud800"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var e edit
		if decode([]byte(s), e.fields()) != nil {
			return
		}
		var want struct {
			Title  *string    `json:"title"`
			Stock  *int64     `json:"stock"`
			Limit  *int       `json:"limit_per_user"`
			Price  *int64     `json:"price_cents"`
			Begins *time.Time `json:"begins_at"`
			Ends   *time.Time `json:"ends_at"`
		}
		if err := json.Unmarshal([]byte(s), &want); err != nil {
			t.Fatalf("%q was accepted, and is %v", s, err)
		}
		if !same(e.title, want.Title) || !same(e.stock, want.Stock) || !same(e.limit, want.Limit) || !same(e.price, want.Price) {
			t.Fatalf("%q was read as %+v", s, e)
		}
		if (e.begins == nil) != (want.Begins == nil) || (e.ends == nil) != (want.Ends == nil) {
			t.Fatalf("%q was read with other times", s)
		}
	})
}

func same[T comparable](a, b *T) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

func FuzzClaimsAreReadAsEncodingJSONReadsThemOrRefused(f *testing.F) {
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

func FuzzHeadersAndQueriesNeverBreakTheReader(f *testing.F) {
	f.Add("key", "Bearer x", "limit=1&cursor=2")
	f.Add("", "Bearer ", "limit=%zz")
	f.Add("\x7f", "bearer\t", "a;b")
	f.Fuzz(func(t *testing.T, key, authorization, query string) {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header = http.Header{"Idempotency-Key": {key}, "Authorization": {authorization}}
		req.URL.RawQuery = query
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = req
		in := input{c: c}
		if got := in.key(); in.err == nil && (got != key || len(key) < 1 || len(key) > 255) {
			t.Fatalf("the key %q was read as %q", key, got)
		}
		in = input{c: c}
		if p := in.page(); in.err == nil && (p.limit < 1 || p.limit > maxLimit || p.cursor < 0) {
			t.Fatalf("the query %q was read as %+v", query, p)
		}
		if token, ok := bearer(req.Header); ok && (token == "" || !strings.HasSuffix(authorization, token)) {
			t.Fatalf("the header %q was read as %q", authorization, token)
		}
	})
}

// Only a token that was signed here is accepted, and it is read as it was signed.
func FuzzATokenIsBelievedOnlyIfItWasSignedHere(f *testing.F) {
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
