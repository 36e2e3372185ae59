package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

const (
	goodSecret = "c8e1f0a94b27d6535e9b0c1d7fa46382"
	goodDSN    = "shop:hunter2@tcp(db:3306)/seckill?timeout=1s&readTimeout=2s&writeTimeout=2s"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestLoad_NothingGiven_ReturnsDefaults(t *testing.T) {
	got, err := config.Load("", nil)
	require.NoError(t, err)
	require.Equal(t, config.Default(), got)
	require.True(t, got.Embedded())
	require.Empty(t, got.Warnings())
}

func TestLoad_FileWithoutKeys_ChangesNothing(t *testing.T) {
	for name, content := range map[string]string{
		"empty":                         "",
		"only comments":                 "# nothing\n\n# here\n",
		"only a document mark":          "---\n",
		"null":                          "null\n",
		"a section without keys":        "http:\n",
		"a section with comments only":  "http:\n  # addr: x\norder:\n",
		"an empty section":              "http: {}\n",
		"a byte order mark and nothing": "\ufeff",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.Load(file(t, content), nil)
			require.NoError(t, err)
			require.Equal(t, config.Default(), got)
		})
	}
}

func TestLoad_Environment_OverridesFileOverDefaults(t *testing.T) {
	path := file(t, `
http: {addr: "127.0.0.1:1", max_in_flight: 7}
stock:
  shards: 16
order: {payment_timeout: 1h30m}
redis: {password: 0123, username: no}
`)
	got, err := config.Load(path, []string{"SECKILL_STOCK__SHARDS=32", "PATH=/bin", "seckill_x=1", "SECKILL", "=x", ""})
	require.NoError(t, err)
	want := config.Default()
	want.HTTP.Addr, want.HTTP.MaxInFlight = "127.0.0.1:1", 7
	want.Stock.Shards = 32
	want.Order.PaymentTimeout = 90 * time.Minute
	want.Redis.Password, want.Redis.Username = "0123", "no" // a text stays as it was written
	require.Equal(t, want, got)
}

// Every key can be set by its variable and by the file, to something that is not
// its default.
func TestKeys_FileAndEnvironment_SetEveryOne(t *testing.T) {
	other := map[string]string{
		"redis.mode": "cluster", "lock.backend": "etcd", "redis.addrs": "a:1,b:2", "id.generator": "daily", "log.level": "debug", "log.format": "json",
		"lock.addrs": "a:1,b:2", "http.addr": "127.0.0.1:1", "admin.addr": "127.0.0.1:2", "http.trusted_proxies": "10.0.0.0/8, 192.168.1.1",
		"http.hosts": "shop.example, shop",
	}
	for _, k := range config.Keys() {
		text := other[k.Path]
		if text == "" {
			text = map[string]string{"text": "abc", "secret": "abc", "number": "9", "ratio": "0.5", "switch": "true", "duration": "777ms"}[k.Kind]
		}
		t.Run(k.Path, func(t *testing.T) {
			section, key, _ := strings.Cut(k.Path, ".")
			fromFile, errFile := config.Load(file(t, section+":\n  "+key+": "+text+"\n"), nil)
			fromEnv, errEnv := config.Load("", []string{k.Variable + "=" + text})
			require.Equal(t, fromFile, fromEnv)
			require.NotEqual(t, config.Default(), fromFile)
			require.Equal(t, errFile == nil, errEnv == nil)
		})
	}
}

func TestLoad_Lists_MayHaveCommas(t *testing.T) {
	want := []string{"a:1", "b:2"}
	for name, content := range map[string]string{
		"a list in a line":   "redis: {mode: cluster, addrs: [a:1, b:2]}",
		"a list of lines":    "redis:\n  mode: cluster\n  addrs:\n  - a:1\n  - b:2\n",
		"a text with commas": "redis: {mode: cluster, addrs: 'a:1, b:2'}",
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := config.Load(file(t, content), nil)
			require.Equal(t, want, got.Redis.Addrs)
		})
	}
	got, err := config.Load(file(t, "redis: {addrs: [a:1]}"), []string{"SECKILL_REDIS__ADDRS="})
	require.NoError(t, err)
	require.Empty(t, got.Redis.Addrs, "an empty variable empties the list")
}

func TestKeys_Every_HasADescription(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range config.Keys() {
		require.False(t, seen[k.Variable], k.Variable)
		seen[k.Variable] = true
		require.Equal(t, strings.ToLower(k.Path), k.Path)
		if k.Kind == "number" || k.Kind == "ratio" || k.Kind == "duration" {
			require.NotEmpty(t, k.Min, "%s has no lower limit", k.Path)
			require.NotEmpty(t, k.Max, "%s has no upper limit", k.Path)
		}
	}
}

func TestLoadDatabase_OnlyDSN_NeedsNoRedisNorSecret(t *testing.T) {
	t.Parallel()
	environ := []string{"SECKILL_MYSQL__DSN=" + goodDSN}
	_, err := config.Load("", environ)
	require.ErrorContains(t, err, "redis.addrs is empty")
	c, err := config.LoadDatabase("", environ)
	require.NoError(t, err)
	require.Equal(t, goodDSN, c.MySQL.DSN.Reveal())

	for wrong, want := range map[string]string{
		"SECKILL_MYSQL__DSN=shop@tcp(db:3306)/seckill": "mysql.dsn needs",
		"SECKILL_MYSQL__TLS_CERT=shop.pem":             "mysql.tls_cert and mysql.tls_key belong together",
		"SECKILL_LOG__LEVEL=loud":                      "log.level",
		"SECKILL_MYSQL_DSN=x":                          "did you mean SECKILL_MYSQL__DSN?",
	} {
		_, err := config.LoadDatabase("", append(environ, wrong))
		require.ErrorContains(t, err, want, wrong)
	}
}

func TestLoad_MisspeltPermission_NamesThePermission(t *testing.T) {
	t.Parallel()
	for wrong, want := range map[string]string{
		"SECKILL_ALOW_WRONG_DESIGN=1": "did you mean SECKILL_ALLOW_WRONG_DESIGN?",
		"SECKILL_ALLOW_UNSAFE_LOK=1":  "did you mean SECKILL_ALLOW_UNSAFE_LOCK?",
	} {
		_, err := config.Load("", []string{wrong})
		require.ErrorContains(t, err, want)
	}
}

func TestLoad_WrongValueOfAVariable_NamesTheVariable(t *testing.T) {
	t.Parallel()
	_, err := config.Load("", []string{"SECKILL_ORDER__MODE=hunter2"})
	require.EqualError(t, err, "SECKILL_ORDER__MODE: order.mode must be one of sync, queue")
	_, err = config.Load(file(t, "order:\n  mode: hunter2\n"), nil)
	require.EqualError(t, err, "order.mode must be one of sync, queue")
}
