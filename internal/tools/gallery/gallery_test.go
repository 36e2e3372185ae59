package gallery

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGallery_Mutants_AreThePatches compares it with the patches in their packages.
func TestGallery_Mutants_AreThePatches(t *testing.T) {
	g, err := Load()
	require.NoError(t, err)
	shown := map[string]Mutant{}
	for _, m := range g.Mutants {
		shown[m.Name] = m
	}
	found := 0
	require.NoError(t, filepath.WalkDir("../..", func(at string, d os.DirEntry, err error) error {
		if err != nil || path.Ext(at) != ".patch" || !strings.Contains(at, "/testdata/mutants/") {
			return err
		}
		found++
		text, err := os.ReadFile(at)
		require.NoError(t, err)
		name := strings.TrimPrefix(strings.TrimSuffix(strings.Replace(filepath.ToSlash(at), "/testdata/mutants", "", 1), ".patch"), "../../")
		m, ok := shown[name]
		if !assert.True(t, ok, "%s is not in the gallery: is its folder embedded in internal/mutants.go?", name) {
			return nil
		}
		assert.Contains(t, string(text), strings.Join(m.Diff, "\n"), name)
		assert.Contains(t, string(text), "Mutation: "+m.What+"\n", name)
		assert.Contains(t, string(text), "--- a/"+m.File+"\n", name)
		assert.NotEmpty(t, m.Killers, name)
		changed := regexp.MustCompile(`(?m)^[-+]`)
		assert.Len(t, changed.FindAllString(strings.Join(m.Diff, "\n"), -1), len(changed.FindAllString(string(text), -1))-2, "%s: all that is changed", name)
		return nil
	}))
	assert.Len(t, g.Mutants, found)
}

// TestPicks_Each_IsAMutantOfAnotherKind holds what is chosen by hand.
func TestPicks_Each_IsAMutantOfAnotherKind(t *testing.T) {
	g, err := Load()
	require.NoError(t, err)
	invariants, err := os.ReadFile("../../../docs/INVARIANTS.md")
	require.NoError(t, err)
	seen, tested := map[string]bool{}, 0
	for _, s := range g.Subjects {
		assert.NotEqual(t, s.Title.EN, s.Title.ZH)
		for _, name := range s.Names {
			m, ok := g.Find(name)
			assert.True(t, ok, "%s is no mutant", name)
			assert.False(t, seen[name], "%s is in two subjects", name)
			seen[name] = true
			for _, id := range m.Invariants {
				assert.Contains(t, string(invariants), "| "+id+" |", name)
			}
			if m.By != "" {
				tested++
				assert.NotEmpty(t, m.Message, name)
			}
		}
	}
	assert.Greater(t, tested*10, len(seen)*9, "what noticed it is told of nearly all")

	// What INVARIANTS.md names as breaking an invariant is shown as doing so.
	_, checks, _ := strings.Cut(string(invariants), "\n## Checks of each invariant\n")
	rows := regexp.MustCompile(`(?m)^\| (I\d+) \|[^|]*\|([^|]*)\|[^|]*\|$`).FindAllStringSubmatch(checks, -1)
	require.Len(t, rows, 12)
	for _, part := range rows {
		for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(part[2], -1) {
			for _, found := range g.Mutants {
				if path.Base(found.Name) == m[1] && seen[found.Name] {
					assert.Contains(t, found.Invariants, part[1], found.Name)
				}
			}
		}
	}
}

func TestFiles_PackedGallery_IsSmall(t *testing.T) {
	_, packed, err := Files()
	require.NoError(t, err)
	t.Logf("%d KiB packed", len(packed)/1024)
	assert.Less(t, len(packed), 160<<10)
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	var g Gallery
	require.NoError(t, json.NewDecoder(reader).Decode(&g))
	want, err := Load()
	require.NoError(t, err)
	assert.Equal(t, *want, g)
}

func TestFind_UniqueShortName_FindsMutant(t *testing.T) {
	g := &Gallery{Mutants: []Mutant{{Name: "order/a"}, {Name: "stock/a"}, {Name: "stock/b", What: "a unit is lost", Invariants: []string{"I4"}}}}
	_, ok := g.Find("a")
	assert.False(t, ok, "two have that name")
	m, ok := g.Find("b")
	assert.True(t, ok)
	assert.Equal(t, "stock/b", m.Name)
	_, ok = g.Find("order/a")
	assert.True(t, ok)
	assert.True(t, m.Matches("i4") && m.Matches("UNIT") && !m.Matches("queue"))
}
