package api

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/internal/api/web"
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

func TestThePageHasAWordForEveryCodeInEveryLanguage(t *testing.T) {
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
