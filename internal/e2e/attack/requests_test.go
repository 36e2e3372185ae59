package attack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fewest is how many requests and configurations the corpus has at least.
const fewestRequests, fewestConfigurations = 300, 120

func TestNoHostileRequestGetsMoreThanItsRefusal(t *testing.T) {
	k := newKeys(t)
	words := k.words()
	n := 0
	for name, f := range readCorpus[family](t, "requests") {
		all, each := f.every()
		n += len(all)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, k, f.Settings)
			for i, r := range all {
				t.Run(strings.TrimSpace(r.Name+" "+each[i]), func(t *testing.T) { s.play(t, r, each[i], words) })
			}
			s.close()
		})
	}
	t.Logf("%d requests", n)
	require.GreaterOrEqual(t, n, fewestRequests)
}

func TestNoRequestOfTheCorpusIsThereTwice(t *testing.T) {
	for name, f := range readCorpus[family](t, "requests") {
		require.NotEmpty(t, f.About, name)
		names := map[string]bool{}
		for _, r := range f.Requests {
			require.False(t, names[r.Name], "%s: %s", name, r.Name)
			names[r.Name] = true
			require.Regexp(t, `^(closed|\d{3}( [a-z_]+)?)$`, r.Want, r.Name)
			require.Contains(t, []string{"", "closed"}, r.Then, r.Name)
			require.Equal(t, len(r.Each), len(slices.Compact(slices.Sorted(slices.Values(r.Each)))), r.Name)
		}
	}
}
