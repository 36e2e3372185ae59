package repository_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command with other build tags compiles most packages a second time.
func TestDocuments_GoRunOfThisModule_HasTheTagsOfTheMakefile(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(root + "/Makefile")
	require.NoError(t, err)
	tags := regexp.MustCompile(`(?m)^TAGS := (\S+)$`).FindStringSubmatch(string(makefile))
	require.NotNil(t, tags)
	list := exec.CommandContext(t.Context(), "git", "ls-files", "*.md")
	list.Dir = root
	files, err := list.Output()
	require.NoError(t, err)
	other := regexp.MustCompile(`go (run|build) (-tags \S+ )?\./\S+`)
	found := 0
	for _, path := range append(strings.Fields(string(files)), "Makefile") {
		text, err := os.ReadFile(root + "/" + path)
		require.NoError(t, err)
		for _, m := range other.FindAllStringSubmatch(string(text), -1) {
			found++
			require.Contains(t, []string{"-tags " + tags[1] + " ", "-tags $(TAGS) ", "-tags $(TAGS),faults "}, m[2], "%s: %s", path, m[0])
		}
	}
	require.Positive(t, found)
}
