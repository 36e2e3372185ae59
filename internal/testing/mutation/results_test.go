package mutation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// later runs once more and returns how many mutants were tried.
func later(t *testing.T, o Options, all ...Mutant) int {
	t.Helper()
	var out strings.Builder
	o.Out = &out
	_, err := Run(t.Context(), o, all)
	require.NoError(t, err)
	return strings.Count(out.String(), " of ")
}

func TestRun_Interrupted_Resumes(t *testing.T) {
	o := Options{Root: tiny(t), Results: filepath.Join(t.TempDir(), "results.jsonl")}
	m, err := written(t, ". -run TestTwice", "\treturn 2 * n", "\treturn n")
	require.NoError(t, err)
	other, err := written(t, ". -run TestOnce", "\treturn n", "\treturn -n")
	require.NoError(t, err)
	other.Path = filepath.Join(filepath.Dir(other.Path), "other.patch")
	require.NoError(t, os.WriteFile(other.Path, []byte("another"), 0o600))

	require.Equal(t, 1, later(t, o, m))
	require.Equal(t, 1, later(t, o, m, other), "only the one that is new")
	require.Zero(t, later(t, o, m, other), "also the one that survived")
	o.Tries = 2
	require.Equal(t, 1, later(t, o, m), "it was tried once and is to be tried twice")
	o.Fresh = true
	require.Equal(t, 1, later(t, o, m))
	o.Fresh = false

	torn, err := os.OpenFile(o.Results, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = torn.WriteString(`{"name":"tiny/it","ha`)
	require.NoError(t, err)
	require.NoError(t, torn.Close())
	require.Zero(t, later(t, o, m), "a line that was torn is dropped")

	require.NoError(t, os.WriteFile(filepath.Join(o.Root, "README.md"), []byte("a document"), 0o600))
	require.Zero(t, later(t, o, m), "a document changes no test")

	beside := filepath.Join(o.Root, "suite", "testdata", "mutants")
	require.NoError(t, os.MkdirAll(beside, 0o700))
	kept := m
	kept.Path = filepath.Join(beside, "kept.patch")
	require.NoError(t, os.Link(m.Path, kept.Path))
	require.Equal(t, 1, later(t, o, kept))
	require.NoError(t, os.WriteFile(filepath.Join(o.Root, "suite", "cases.go"), []byte("package suite\n"), 0o600))
	require.Equal(t, 1, later(t, o, kept), "the suite that it is beside has changed")
	require.Zero(t, later(t, o, m), "which is not that of another")

	changed := filepath.Join(o.Root, "tiny_test.go")
	text, err := os.ReadFile(changed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(changed, bytes.ReplaceAll(text, []byte("wrong"), []byte("odd")), 0o600))
	require.Equal(t, 1, later(t, o, m), "its package has changed")

	table, err := Table(o, []Mutant{m, other})
	require.NoError(t, err)
	require.Contains(t, table, "The tests are held against 2 planted bugs.")
	require.Contains(t, table, "At the last try 1 were killed\n(1 of them since their last change) and 1 were not; 0 were never tried")
	require.Contains(t, table, "| it | something. | 2 of 2 | `TestTwice/of_one`: `tiny_test.go:8: odd` |")
	require.Contains(t, table, `| other | something. | SURVIVED, 0 of 1 \* |`)

	require.NoError(t, Tidy(o, []Mutant{m, other}))
	require.Zero(t, later(t, o, m), "what is known is still known")
	lines, err := os.ReadFile(o.Results)
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count(lines, []byte("\n")), "one line for each")
}

func TestRun_BudgetSpent_CountsMutantsLeftOver(t *testing.T) {
	m, err := written(t, ". -run TestTwice", "\treturn 2 * n", "\treturn n")
	require.NoError(t, err)
	var out strings.Builder
	ok, err := Run(t.Context(), Options{Root: tiny(t), Out: &out, Budget: time.Nanosecond}, []Mutant{m})
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "1 mutants, 0 killed, 0 not killed, 1 left over")
}

func TestMutant_TimingDependent_IsKilledEachTimeOrNot(t *testing.T) {
	root := tiny(t)
	require.NoError(t, os.WriteFile(filepath.Join(root, "chance_test.go"), []byte(`package tiny

import (
	"os"
	"testing"
)

func TestEverySecondTime(t *testing.T) {
	if Once(1) == 1 {
		return
	}
	if os.Remove("seen") != nil {
		_ = os.WriteFile("seen", nil, 0o600)
		t.Error("it is seen")
	}
}
`), 0o600))
	m, err := written(t, ". -run TestEverySecondTime\nTries: 4", "\treturn n", "\treturn -n")
	require.NoError(t, err)
	got, err := m.Try(t.Context(), Options{Root: root})
	require.NoError(t, err)
	require.Equal(t, Survived, got.Verdict)
	require.Equal(t, 2, got.Killed)
	require.Equal(t, 4, got.Tries)
}

func TestResult_Message_IsTheFirstFailure(t *testing.T) {
	for want, output := range map[string]string{
		"x_test.go:3: odd": "=== RUN   TestX\n    x_test.go:3: odd\n--- FAIL: TestX\n",
		"Not equal: expected: 1 actual  : 2 · it is one": testifySaid,
		"panic: boom": "=== RUN   TestX\npanic: boom\n\ngoroutine 7\n",
		strings.Repeat("long", messageLength/4) + "…": strings.Repeat("long", 99),
	} {
		require.Equal(t, want, message(output))
	}
}

const testifySaid = "    x_test.go:9: \n        \tError Trace:\t/x_test.go:9\n        \tError:      \tNot equal: \n" +
	"        \t            \texpected: 1\n        \t            \tactual  : 2\n        \tTest:       \tTestX\n" +
	"        \tMessages:   \tit is one\n"
