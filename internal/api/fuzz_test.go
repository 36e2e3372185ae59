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

func FuzzParseID_AnyText_AcceptsOneSpelling(f *testing.F) {
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

func FuzzBody_AnyJSON_IsReadLikeEncodingJSONOrRefused(f *testing.F) {
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

func FuzzRequest_AnyHeadersAndQuery_NeverPanics(f *testing.F) {
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
