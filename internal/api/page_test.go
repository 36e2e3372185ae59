package api

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/web"
)

// ourFiles returns the files of the page that are not vendored.
func ourFiles(t *testing.T) (names []string) {
	t.Helper()
	files, err := web.Files.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), "uplot.") {
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
