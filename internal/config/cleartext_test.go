package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestWarnings_PasswordWithoutTLS_NamesKey(t *testing.T) {
	const times = "?timeout=1s&readTimeout=2s&writeTimeout=2s"
	at := func(addr string) config.Secret { return config.Secret("u:" + canary + "@tcp(" + addr + ")/d" + times) }
	etcd := func(c *config.Config, addr string) {
		c.Lock.Backend, c.Lock.Addrs, c.Lock.Username, c.Lock.Password = "etcd", []string{addr}, "u", canary
	}
	for name, tc := range map[string]struct {
		change func(*config.Config)
		told   string // "" is none
	}{
		"MySQL":                        {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = false, at("db:3306") }, "mysql.tls"},
		"MySQL at an address":          {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = false, at("10.0.0.7:3306") }, "mysql.tls"},
		"MySQL over TLS":               {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = true, at("db:3306") }, ""},
		"MySQL over TLS of the DSN":    {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = false, at("db:3306")+"&tls=true" }, ""},
		"MySQL without TLS of the DSN": {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = false, at("db:3306")+"&tls=false" }, "mysql.tls"},
		"MySQL on this machine":        {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = false, at("[::1]:3306") }, ""},
		"MySQL at a socket":            {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = false, "u:p@unix(/run/m.sock)/d"+times }, ""},
		"MySQL without a password":     {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = false, "u@tcp(db:3306)/d"+times }, ""},
		"Redis":                        {func(c *config.Config) { c.Redis.Password = canary }, "redis.tls"},
		"Redis over TLS":               {func(c *config.Config) { c.Redis.Password, c.Redis.TLS = canary, true }, ""},
		"Redis on this machine":        {func(c *config.Config) { c.Redis.Password, c.Redis.Addrs = canary, []string{"localhost:6379"} }, ""},
		"sentinels": {func(c *config.Config) {
			c.Redis.Mode, c.Redis.MasterName, c.Redis.SentinelPassword = "sentinel", "m", canary
		}, "redis.sentinel_password"},
		"one node of a cluster": {func(c *config.Config) {
			c.Redis.Mode, c.Redis.Password, c.Redis.Addrs = "cluster", canary, []string{"127.0.0.1:1", "r:1"}
		}, "redis.password"},
		"masters of redlock": {func(c *config.Config) {
			c.Redis.Password, c.Redis.Addrs = canary, []string{"127.0.0.1:1"}
			c.Lock.Backend, c.Lock.Addrs = "redlock", []string{"127.0.0.1:2", "127.0.0.1:3", "r:1"}
		}, "redis.password"},
		"etcd":                 {func(c *config.Config) { etcd(c, "e:2379") }, "lock.tls"},
		"etcd over TLS":        {func(c *config.Config) { etcd(c, "e:2379"); c.Lock.TLS = true }, ""},
		"etcd on this machine": {func(c *config.Config) { etcd(c, "127.0.0.1:2379") }, ""},
		"ZooKeeper":            {func(c *config.Config) { etcd(c, "z:2181"); c.Lock.Backend = "zookeeper" }, "lock.password"},
	} {
		t.Run(name, func(t *testing.T) {
			c := real(t)
			c.MySQL.TLS = true
			tc.change(&c)
			require.NoError(t, c.Validate())
			got := strings.Join(c.Warnings(), "\n")
			require.NotContains(t, got, canary)
			if tc.told == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, tc.told)
			require.Contains(t, got, "crosses a network in the clear")
			require.Len(t, c.Warnings(), 1)
		})
	}
}
