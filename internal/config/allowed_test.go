package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestValidate_UnusualValidConfig_ReturnsNil(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"a lease of just twice": func(c *config.Config) { c.Lock.TTL = 4 * time.Second },
		"free ports":            func(c *config.Config) { c.HTTP.Addr, c.Admin.Addr = "127.0.0.1:0", "127.0.0.1:0" },
		"every network":         func(c *config.Config) { c.HTTP.Addr = ":8080" },
		"IPv6":                  func(c *config.Config) { c.HTTP.Addr, c.Redis.Addrs = "[::1]:8080", []string{"[fd00::1]:6379"} },
		"a socket": func(c *config.Config) {
			c.MySQL.DSN = "u@unix(/run/m.sock)/d?timeout=1s&readTimeout=1s&writeTimeout=1s"
		},
		"sentinels": func(c *config.Config) {
			c.Redis.Mode, c.Redis.MasterName, c.Redis.Addrs = "sentinel", "m", []string{"a:1", "b:1"}
		},
		"one seed of a cluster":               func(c *config.Config) { c.Redis.Mode = "cluster" },
		"a secret of just 32 bytes":           func(c *config.Config) { c.Auth.Secret = goodSecret },
		"a long secret of a short one, twice": func(c *config.Config) { c.Auth.Secret = goodSecret + goodSecret },
		"a demonstration for everybody, meant so": func(c *config.Config) {
			c.HTTP.Addr, c.Auth.DemoPublic, c.MySQL.DSN, c.Redis.Addrs = ":8080", true, "", nil
			require.Len(t, c.Warnings(), 1)
		},
		"a weak secret, embedded": func(c *config.Config) {
			c.Auth.Secret, c.MySQL.DSN, c.Redis.Addrs = config.Secret(strings.Repeat("a", 32)), "", nil
		},
		"embedded, no secret":         func(c *config.Config) { c.Auth.Secret, c.MySQL.DSN, c.Redis.Addrs = "", "", nil },
		"no limit of rates":           func(c *config.Config) { c.RateLimit.PerUser, c.RateLimit.Logins = 0, 0 },
		"demo login with real stores": func(c *config.Config) { c.Auth.DemoLogin = true },
	} {
		t.Run(name, func(t *testing.T) {
			c := real(t)
			change(&c)
			require.NoError(t, c.Validate())
		})
	}
}

func TestWarnings_EachRiskySetting_IsNamed(t *testing.T) {
	c := real(t)
	c.MySQL.TLS = true
	require.Empty(t, c.Warnings())
	c.Auth.DemoLogin = true
	c.Admin.Addr = ":6060"
	c.MySQL.DSN = dsn("timeout=1s&readTimeout=30s&writeTimeout=2s")
	c.Auth.TokenTTL = 24*time.Hour + 1
	got := strings.Join(c.Warnings(), "\n")
	require.Len(t, c.Warnings(), 4)
	require.Contains(t, got, "auth.token_ttl is longer than a day")
	require.Contains(t, got, "auth.demo_login")
	require.Contains(t, got, "admin.addr")
	require.Contains(t, got, "readTimeout longer than lock.ttl")
	require.NotContains(t, got, canary)

	for dsn, warned := range map[config.Secret]bool{"root@tcp(db:1)/d": true, "root:x@tcp(db:1)/d": false, "shop@tcp(db:1)/d": false} {
		c = real(t)
		c.MySQL.DSN = dsn + "?timeout=1s&readTimeout=1s&writeTimeout=1s"
		require.NoError(t, c.Validate())
		require.Equal(t, warned, strings.Contains(strings.Join(c.Warnings(), "\n"), "root without a password"))
	}
	c = config.Default()
	c.Auth.DemoLogin = true
	require.Empty(t, c.Warnings(), "embedded, that is what it is for")
}

func TestSecrets_Generated_OnlyWithEmbeddedStores(t *testing.T) {
	a, b := config.Default(), config.Default()
	require.Equal(t, []string{"auth.secret"}, a.FillDevelopment())
	require.Equal(t, []string{"auth.secret"}, b.FillDevelopment())
	require.NotEqual(t, a.Auth.Secret.Reveal(), b.Auth.Secret.Reveal())
	require.GreaterOrEqual(t, len(a.Auth.Secret.Reveal()), 32)
	require.Empty(t, a.FillDevelopment(), "a given one stays")

	c := real(t)
	c.Auth.Secret = ""
	require.Empty(t, c.FillDevelopment())
	require.Error(t, c.Validate())
}
