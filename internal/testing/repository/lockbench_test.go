package repository_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The comparison of locks is a module of its own, which needs what the program needs in the same
// versions: with older ones it does not start.
func TestLockbenchModule_Dependencies_MatchTheProgram(t *testing.T) {
	program, comparison := required(t, root+"/go.mod"), required(t, "../lockbench/go.mod")
	shared := 0
	for module, version := range comparison {
		if of, ok := program[module]; ok {
			shared++
			require.Equal(t, of, version, "%s: cd internal/testing/lockbench && go mod tidy", module)
		}
	}
	require.Greater(t, shared, 10)
}

// required reads the versions that a go.mod requires.
func required(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	versions := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
		versions[m[1]] = m[2]
	}
	return versions
}
