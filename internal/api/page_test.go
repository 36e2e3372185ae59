package api

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePageHasAWordForEveryCodeInEveryLanguage(t *testing.T) {
	text, err := web.ReadFile("web/words.js")
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
	for _, file := range []string{"web/app.js", "web/server.js", "web/index.html"} {
		text, err := web.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?:say\("|data-say=")(\w+)"`).FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, first, m[1], file)
		}
	}
}
