package repository_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocuments_TestsAndBenchmarks_Exist checks that the tests exist.
func TestSecurity_Defence_NamesOneTest(t *testing.T) {
	_, text, found := strings.Cut(read(t, "SECURITY.md"), "\n## Defences\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	rows := 0
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) < 3 || cells[0] == "| attack" {
			continue
		}
		rows++
		require.Len(t, cells, 3, line)
		require.Regexp(t, "^`Test[A-Z]\\w+` \\|$", cells[2], cells[0])
	}
	require.Greater(t, rows, 30)
}
