package zklock

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzNodes_AnyNames_FindTokensNode(f *testing.F) {
	f.Add("token", "a.1,b.-2147483648,nonsense,.,..")
	f.Add("a.b/c d%", "a.b.1")
	f.Add("", ".0")
	f.Fuzz(func(t *testing.T, token, others string) {
		mine := escape(token) + ".0000000042"
		require.NotContains(t, escape(token), ".")
		require.NotContains(t, escape(token), "/")
		children := append(strings.Split(others, ","), mine)
		all := newNames(slices.Clone(children))
		found, ours := all.of(token)
		require.True(t, ours)
		require.True(t, strings.HasPrefix(found, escape(token)+"."))
		before, there := all.before(mine)
		require.True(t, there)
		require.True(t, before == "" || slices.Contains(children, before))
	})
}
