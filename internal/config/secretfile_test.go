package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func secretFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// secrets returns the keys that are secrets.
func secrets() (all []config.Key) {
	for _, k := range config.Keys() {
		if k.Kind == "secret" {
			all = append(all, k)
		}
	}
	return all
}

func TestSecretFile_EverySecret_IsTheContentWithoutItsLastNewline(t *testing.T) {
	require.NotEmpty(t, secrets())
	for _, k := range secrets() {
		require.Equal(t, k.Variable+"_FILE", k.FileVariable())
		for content, value := range map[string]string{
			"abc": "abc", "abc\n": "abc", "abc\r\n": "abc", "abc\n\n": "abc\n", "a\tb c": "a\tb c", "": "",
		} {
			byFile, errFile := config.Load("", []string{k.FileVariable() + "=" + secretFile(t, content)})
			byValue, errValue := config.Load("", []string{k.Variable + "=" + value})
			require.Equal(t, byValue, byFile, "%s of %q", k.Path, content)
			require.Equal(t, errValue, errFile)
		}
	}
	got, err := config.Load(production, []string{
		"SECKILL_AUTH__SECRET_FILE=" + secretFile(t, goodSecret+"\n"), "SECKILL_MYSQL__DSN_FILE=" + secretFile(t, goodDSN+"\n"),
	})
	require.NoError(t, err)
	require.Equal(t, goodSecret, got.Auth.Secret.Reveal())
	require.Empty(t, got.Warnings())
}

func TestSecretFile_Unusable_ReportsErrorWithoutContent(t *testing.T) {
	dir := t.TempDir()
	for _, k := range secrets() {
		for name, tc := range map[string]struct {
			path string
			env  []string
			want []string
		}{
			"is not there":         {filepath.Join(dir, "nothing"), nil, []string{"nothing", "no such file"}},
			"is a directory":       {dir, nil, []string{dir, "is a directory"}},
			"is large":             {secretFile(t, strings.Repeat(canary, 10_000)), nil, []string{"secret", "larger than 64 KiB"}},
			"has no name":          {"", nil, []string{"names no file"}},
			"besides a variable":   {secretFile(t, canary), []string{k.Variable + "=" + canary}, []string{k.Variable + " and ", "both set"}},
			"besides an empty one": {secretFile(t, canary), []string{k.Variable + "="}, []string{k.Variable + " and ", "both set"}},
		} {
			t.Run(k.Path+" "+name, func(t *testing.T) {
				_, err := config.Load("", append(tc.env, k.FileVariable()+"="+tc.path))
				require.Error(t, err)
				found := lines(t, err)
				require.Contains(t, found[0], k.FileVariable())
				for _, words := range tc.want {
					require.Contains(t, found[0], words)
				}
				require.NotContains(t, err.Error(), canary)
			})
		}
	}
	_, err := config.Load("", []string{"SECKILL_AUTH__SECRET_FILE=/a\x1b[2Jb"})
	require.NotContains(t, err.Error(), "\x1b", "a path is safe to print")
}

func TestSecretFile_KeyThatIsNotASecret_IsRefused(t *testing.T) {
	_, err := config.Load("", []string{"SECKILL_HTTP__ADDR_FILE=" + secretFile(t, "127.0.0.1:1")})
	require.ErrorContains(t, err, "SECKILL_HTTP__ADDR_FILE: only a secret can come from a file: set SECKILL_HTTP__ADDR")
	got, err := config.Load("", []string{"SECKILL_AUTH__JWKS_FILE=/keys"})
	require.NoError(t, err)
	require.Equal(t, "/keys", got.Auth.JWKSFile, "a key whose own name ends so")
}
