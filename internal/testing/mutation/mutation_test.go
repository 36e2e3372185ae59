package mutation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const source = `package tiny

// Twice is used by the test below.
func Twice(n int) int {
	return 2 * n
}

func Once(n int) int {
	return n
}
`

// tiny is a module with one function that is tested and one that is not.
func tiny(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module tiny\n\ngo 1.26.0\n",
		"tiny.go": source,
		"tiny_test.go": `package tiny

import "testing"

func TestTwice(t *testing.T) {
	t.Run("of_one", func(t *testing.T) {
		if Twice(1) != 2 {
			t.Error("wrong")
		}
	})
}

func TestOnce(*testing.T) { Once(1) }

func TestRed(t *testing.T) { t.Error("always") }
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

// written is a patch of one line, as it is read back.
func written(t *testing.T, killer, before, after string) (Mutant, error) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "internal", "tiny", "testdata", "mutants")
	require.NoError(t, os.MkdirAll(folder, 0o750))
	text := "Mutation: something.\nKilled by: " + killer + "\n\n" +
		"diff --git a/tiny.go b/tiny.go\n--- a/tiny.go\n+++ b/tiny.go\n@@ -105,1 +105,1 @@\n-" + before + "\n+" + after + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "it.patch"), []byte(text), 0o600))
	all, err := Load(folder)
	if err != nil {
		return Mutant{}, err
	}
	require.Len(t, all, 1)
	return all[0], nil
}

func TestMutantTry_EachKind_ReturnsVerdict(t *testing.T) {
	root := tiny(t)
	for name, tc := range map[string]struct {
		run, before, after string
		want               Verdict
		by                 string
	}{
		"it is killed by a test":              {"TestTwice", "\treturn 2 * n", "\treturn n", Killed, "TestTwice/of_one"},
		"no test looks":                       {"TestOnce", "\treturn n", "\treturn -n", Survived, ""},
		"the pattern names no test":           {"TestNobody", "\treturn n", "\treturn -n", NoTests, ""},
		"the pattern names no part of a test": {"TestTwice/of_none", "\treturn 2 * n", "\treturn n", NoTests, ""},
		"what does not compile is no kill":    {"TestTwice", "\treturn 2 * n", "\treturn \"2\"", NotCompiling, ""},
		"the source no longer has that line":  {"TestTwice", "\treturn 3 * n", "\treturn n", Stale, ""},
		"the source has that line twice over": {"TestTwice", "}", "} //", Stale, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := written(t, ". -run "+tc.run, tc.before, tc.after)
			require.NoError(t, err)
			got, err := m.Try(t.Context(), Options{Root: root})
			require.NoError(t, err)
			require.Equal(t, tc.want, got.Verdict, got.output)
			if tc.want == Killed {
				require.Equal(t, tc.by, got.By)
				require.Equal(t, "tiny_test.go:8: wrong", got.Message)
			}
			if tc.want == Stale {
				require.ErrorIs(t, m.Applies(root), ErrStale)
			}
		})
	}
	text, err := os.ReadFile(filepath.Join(root, "tiny.go"))
	require.NoError(t, err)
	require.Equal(t, source, string(text), "the source itself is never touched")
}

func TestMutant_TestRedWithoutIt_KillsNothing(t *testing.T) {
	m, err := written(t, ". -run TestRed", "\treturn n", "\treturn -n")
	require.NoError(t, err)
	var out strings.Builder
	ok, err := Run(t.Context(), Options{Root: tiny(t), Out: &out}, []Mutant{m})
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "red when whole")
}

func TestMutant_Survives_IsReported(t *testing.T) {
	m, err := written(t, ". -run TestOnce", "\treturn n", "\treturn -n")
	require.NoError(t, err)
	var out strings.Builder
	ok, err := Run(t.Context(), Options{Root: tiny(t), Out: &out}, []Mutant{m})
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "SURVIVED")
	require.Contains(t, out.String(), "1 mutants, 0 killed, 1 not killed, 0 left over")
}

func TestMutantHeader_Incomplete_IsRefused(t *testing.T) {
	for _, killer := range []string{"./tiny", " -run X", "./tiny -run ", "./tiny -run X\nQuik: yes", "./tiny -run X\nTries: 0"} {
		_, err := written(t, killer, "a", "b")
		require.Error(t, err, killer)
	}
	_, err := Load(t.TempDir())
	require.ErrorContains(t, err, "no patch in")
}
