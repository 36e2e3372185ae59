package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"example.com/seckill/internal/config"
)

const (
	documented = "../../configs/seckill.yaml"
	production = "../../configs/production.yaml"
)

func TestExampleFile_Loaded_EqualsDefaults(t *testing.T) {
	got, err := config.Load(documented, nil)
	require.NoError(t, err)
	require.Equal(t, config.Default(), got)
}

// The file and the struct hold the same keys in the same order, and above each
// stand its default and its variable.
func TestExampleFile_EveryKey_HasDefaultAndVariable(t *testing.T) {
	content, err := os.ReadFile(documented)
	require.NoError(t, err)
	var doc yaml.Node
	require.NoError(t, yaml.Unmarshal(content, &doc))

	var paths []string
	comments := map[string]string{}
	root := doc.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		section := root.Content[i+1]
		for j := 0; j < len(section.Content); j += 2 {
			path := root.Content[i].Value + "." + section.Content[j].Value
			paths = append(paths, path)
			comments[path] = section.Content[j].HeadComment
		}
	}
	var want []string
	for _, k := range config.Keys() {
		want = append(want, k.Path)
		above := comments[k.Path]
		said, ok := strings.CutPrefix(lastLine(above), "# Default: ")
		require.True(t, ok, "%s: no default above it", k.Path)
		value, variable, ok := strings.Cut(said, ". Variable: ")
		require.True(t, ok, "%s: no variable above it", k.Path)
		require.Equal(t, k.Variable, variable)
		require.Equal(t, k.Default, value, k.Path)
		for _, word := range append([]string{k.Max}, k.Values...) {
			require.Contains(t, strings.Join(strings.Fields(above), " "), word, "%s: not all it may be is said", k.Path)
		}
		if k.Kind == "duration" {
			require.Contains(t, above, "Duration.", k.Path)
		}
		if k.Kind == "secret" {
			require.Contains(t, above, "kept secret", k.Path)
		}
	}
	require.Equal(t, want, paths)
	require.Contains(t, string(content), config.ExampleSecret)
}

func lastLine(s string) string { return s[strings.LastIndex(s, "\n")+1:] }

func TestProductionFile_SecretsGiven_IsValid(t *testing.T) {
	_, err := config.Load(production, nil)
	require.Error(t, err)
	require.Len(t, lines(t, err), 2)
	require.ErrorContains(t, err, "SECKILL_MYSQL__DSN")
	require.ErrorContains(t, err, "SECKILL_AUTH__SECRET")

	got, err := config.Load(production, []string{
		"SECKILL_AUTH__SECRET=" + goodSecret,
		"SECKILL_MYSQL__DSN=" + goodDSN,
	})
	require.NoError(t, err)
	require.False(t, got.Embedded())
	require.Empty(t, got.Warnings())
}

func TestProductionFile_Secrets_AreAbsent(t *testing.T) {
	content, err := os.ReadFile(production)
	require.NoError(t, err)
	var set map[string]map[string]any
	require.NoError(t, yaml.Unmarshal(content, &set))
	for _, k := range config.Keys() {
		section, key, _ := strings.Cut(k.Path, ".")
		if k.Kind == "secret" {
			require.NotContains(t, set[section], key)
		}
	}
}
