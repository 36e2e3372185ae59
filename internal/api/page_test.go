package api

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/web"
)

// ourFiles returns the files of the page that are not vendored. The page for an unknown address is none of them.
func ourFiles(t *testing.T) (names []string) {
	t.Helper()
	files, err := web.Files.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), "uplot.") && f.Name() != missingPage {
			names = append(names, f.Name())
		}
	}
	return names
}

func TestServerTime_EveryAnswer_IsOfTheServersClock(t *testing.T) {
	shop := newShop()
	shop.now = time.Date(2026, 1, 2, 4, 4, 5, 678_900_000, time.FixedZone("", 3600))
	server := shop.serve(t, Options{})
	for path, status := range map[string]int{
		"/api/v1/features": 200, "/api/v1/coupons": 200, "/api/v1/coupons/1": 200, "/api/v1/coupons/99": 404, "/api/v1/orders": 401, "/none": 404,
	} {
		rec := do(t, server, ask{method: http.MethodGet, path: path})
		require.Equal(t, status, rec.Code, path)
		require.Equal(t, "2026-01-02T03:04:05.678Z", rec.Header().Get("Server-Time"), path)
	}
}

func TestPageWords_EveryErrorCode_HasTextInEachLanguage(t *testing.T) {
	text, err := web.Files.ReadFile("words.js")
	require.NoError(t, err)
	parts := regexp.MustCompile(`(?m)^  (\w+): \{$`).FindAllStringSubmatchIndex(string(text), -1)
	require.Len(t, parts, 2, "English and Chinese")
	names := func(from, to int) (all []string) {
		for _, m := range regexp.MustCompile(`(\w+): "`).FindAllStringSubmatch(string(text[from:to]), -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return all
	}
	first, second := names(parts[0][1], parts[1][0]), names(parts[1][1], len(text))
	require.Equal(t, first, second)
	for _, p := range append(slices.Clone(problems), internal) {
		name := p.code
		if name == "ended" { // that word is the coupon's state
			name = "ended_code"
		}
		require.Contains(t, first, name)
	}
	for _, file := range ourFiles(t) {
		text, err := web.Files.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?:say\("|data-say="|data-label=")(\w+)"(?:[),>]| \w)`).FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, first, m[1], file)
		}
	}
}

func TestUnknownAddress_Browser_GetsAPage(t *testing.T) {
	s := newShop().serve(t, Options{})
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct{ method, path, accept, kind string }{
		{"GET", "/nope", browser, "text/html; charset=utf-8"},
		{"HEAD", "/nope/nope", browser, "text/html; charset=utf-8"},
		{"GET", "/nope", "*/*", "application/problem+json"},
		{"GET", "/nope", "", "application/problem+json"},
		{"GET", "/api/v1/nope", browser, "application/problem+json"},
		{"POST", "/nope", browser, "application/problem+json"},
	} {
		r := httptest.NewRequest(c.method, c.path, http.NoBody)
		r.Header["Accept"] = []string{c.accept}
		rec := httptest.NewRecorder()
		s.Handler().ServeHTTP(rec, r)
		require.Equal(t, http.StatusNotFound, rec.Code, c)
		require.Equal(t, c.kind, rec.Header().Get("Content-Type"), c)
		require.Equal(t, "Accept", rec.Header().Get("Vary"), c)
		if c.kind == "text/html; charset=utf-8" {
			require.Equal(t, pagePolicy, rec.Header().Get("Content-Security-Policy"))
		}
		if c.kind == "text/html; charset=utf-8" && c.method == http.MethodGet {
			require.Regexp(t, `There is no page[^\p{Han}]+\p{Han}`, rec.Body.String())
		}
	}
	require.Equal(t, http.StatusNotFound, do(t, s, ask{method: "GET", path: "/404.html"}).Code)
}
