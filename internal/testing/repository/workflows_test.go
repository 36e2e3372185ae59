package repository_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// workflow is what the tests read of a workflow of GitHub.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Container string
		Steps     []struct {
			Uses string
			With map[string]any
		}
	}
}

// A tag can be moved to other code. The token of a checkout stays in .git/config while the code of a pull request runs.
func TestWorkflows_EveryAction_IsPinnedAndLeavesNoToken(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var w workflow
		require.NoError(t, yaml.Unmarshal(text, &w))
		require.Equal(t, map[string]string{"contents": "read"}, w.Permissions)
		require.Contains(t, w.Jobs, "vulnerabilities")
		for name, job := range w.Jobs {
			require.Regexp(t, `^golang:\d+\.\d+\.\d+-bookworm$`, job.Container, name)
			for _, step := range job.Steps {
				if step.Uses == "" {
					continue
				}
				require.Regexp(t, `@[0-9a-f]{40}$`, step.Uses, name)
				if strings.HasPrefix(step.Uses, "actions/checkout@") {
					require.Equal(t, false, step.With["persist-credentials"], name)
				}
			}
		}
	}
}

func TestDependabot_EveryModule_IsListed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github/dependabot.yml"))
	require.NoError(t, err)
	var set struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"` //nolint:tagliatelle // GitHub's name
			Directories []string
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &set))
	listed := map[string]bool{}
	for _, u := range set.Updates {
		for _, dir := range u.Directories {
			listed[u.Ecosystem+" "+dir] = true
		}
	}
	modules := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" {
			modules++
			dir, _ := filepath.Rel(root, filepath.Dir(path))
			require.True(t, listed["gomod /"+strings.TrimPrefix(dir, ".")], dir)
		}
		return err
	}))
	require.Equal(t, 3, modules)
}

// secretFiles are written beside the tree, and must not reach a layer of the image.
var secretFiles = regexp.MustCompile(`(?m)^(\.env|\.env\.part|\*\.pem|\*\*/\*\.pem)$`)

func TestDockerignore_FilesWithSecrets_AreLeftOut(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	require.NoError(t, err)
	require.Len(t, secretFiles.FindAllString(string(text), -1), 4)
}
