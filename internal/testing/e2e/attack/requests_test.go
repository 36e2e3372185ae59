package attack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fewestRequests and fewestConfigurations are what the corpus has at least.
const fewestRequests, fewestConfigurations = 300, 120

func TestAttack_HostileRequest_GetsOnlyItsRefusal(t *testing.T) {
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

func TestAttackCorpus_Documents_HaveItsCount(t *testing.T) {
	asked, set := 0, 0
	for _, f := range readCorpus[family](t, "requests") {
		all, _ := f.every()
		asked += len(all)
	}
	for _, f := range readCorpus[configurations](t, "configurations") {
		set += len(f.Configurations)
	}
	for _, document := range []string{"SECURITY.md", "docs/TESTING.md"} {
		text, err := os.ReadFile(filepath.Join("../../../..", document))
		require.NoError(t, err)
		told := strings.Join(strings.Fields(string(text)), " ")
		require.Contains(t, told, fmt.Sprintf("%d hostile requests", asked), document)
		require.Contains(t, told, fmt.Sprintf("%d careless configurations", set), document)
	}
}

func TestAttackCorpus_Requests_AreDistinct(t *testing.T) {
	for name, f := range readCorpus[family](t, "requests") {
		require.NotEmpty(t, f.About, name)
		names := map[string]bool{}
		for _, r := range f.Requests {
			require.False(t, names[r.Name], "%s: %s", name, r.Name)
			names[r.Name] = true
			require.Regexp(t, `^(closed|\d{3}( [a-z_]+)?)$`, r.Want, r.Name)
			require.Contains(t, []string{"", "closed"}, r.Then, r.Name)
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(r.Each))), len(r.Each), r.Name)
		}
	}
}
