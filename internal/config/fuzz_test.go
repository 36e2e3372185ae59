package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// Whatever stands in the file and the variables, Load returns a valid
// configuration or lines of text, and no line repeats a secret.
func FuzzLoad_AnyFileAndVariables_NeverPanics(f *testing.F) {
	content, err := os.ReadFile(documented)
	require.NoError(f, err)
	f.Add(content, "SECKILL_STOCK__SHARDS", "8")
	f.Add([]byte("a: &a [*a]\n<<: *a\n? {b: c}\n: !!binary x\n--- {}\n"), "SECKILL_X", "=")
	f.Add([]byte("redis: {addrs: [a:1, \"\\0\"]}\nhttp: {trusted_proxies: ::/0}\n"), "SECKILL_MYSQL__DSN", "a:b@/c?timeout=1s")
	f.Add([]byte("lock: {ttl: 1e9}\n\x00"), "SECKILL_LOCK__TTL", "-1h")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, name, value string) {
		path := filepath.Join(dir, "c.yaml")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		const secret = "correct horse"
		c, err := config.Load(path, []string{name + "=" + value, "SECKILL_AUTH__SECRET=" + secret})
		if err == nil {
			require.NoError(t, c.Validate())
			return
		}
		require.NotContains(t, err.Error(), secret)
		for _, l := range lines(t, err) {
			require.NotContains(t, strings.TrimSuffix(l, "\r"), "\r")
		}
	})
}
