package repository_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// An editor ignores a field of devcontainer.json that it does not know, so a misspelt one does nothing.
func TestDevContainer_Settings_AreThoseOfTheRepository(t *testing.T) {
	t.Parallel()
	var set struct {
		Name, Image, ContainerUser, RemoteUser, PostCreateCommand string

		ForwardPorts    []int
		PortsAttributes map[string]struct{ Label, OnAutoForward string }
		Customizations  struct {
			VSCode struct {
				Extensions []string
				Settings   map[string]string
			}
		}
	}
	decoder := json.NewDecoder(strings.NewReader(read(t, ".devcontainer/devcontainer.json")))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&set))

	build := regexp.MustCompile(`(?m)^FROM (golang:\S+) AS build$`).FindStringSubmatch(read(t, "Dockerfile"))
	require.Len(t, build, 2)
	require.Equal(t, build[1], set.Image)
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	require.Contains(t, set.Image, "golang:"+language[1]+".")
	require.Equal(t, "root", set.RemoteUser, ".ci/install-servers installs packages")
	require.Contains(t, read(t, "Makefile"), "TAGS := "+set.Customizations.VSCode.Settings["go.buildTags"]+"\n")

	cfg := config.Default()
	require.Equal(t, []int{portOf(t, cfg.HTTP.Addr), portOf(t, cfg.Admin.Addr)}, set.ForwardPorts)
	for _, name := range regexp.MustCompile(`\.ci/\S+`).FindAllString(set.PostCreateCommand, -1) {
		info, err := os.Stat(filepath.Join(root, name))
		require.NoError(t, err)
		assert.NotZero(t, info.Mode()&0o100, "%s is not executable", name)
	}
	for _, m := range regexp.MustCompile(`make (\w+)`).FindAllStringSubmatch(set.PostCreateCommand, -1) {
		assert.Contains(t, read(t, "Makefile"), "\n"+m[1]+":")
	}
}
