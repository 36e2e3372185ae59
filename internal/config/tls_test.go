package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestTLS_KeysWithoutEffect_AreRefused(t *testing.T) {
	const times = "timeout=1s&readTimeout=2s&writeTimeout=2s"
	etcd := func(c *config.Config) { c.Lock.Backend, c.Lock.Addrs = "etcd", []string{"e:2379"} }
	for name, tc := range map[string]struct {
		change func(*config.Config)
		key    string
		why    string // "" is accepted
	}{
		"a certificate without its key":    {func(c *config.Config) { c.HTTP.TLSCert = "c" }, "http.tls_cert", "belong together"},
		"a key without its certificate":    {func(c *config.Config) { c.Redis.TLS, c.Redis.TLSKey = true, "k" }, "redis.tls_cert", "belong together"},
		"both listeners and no file":       {func(c *config.Config) { c.Admin.TLS = true }, "admin.tls", "has no certificate"},
		"both listeners":                   {func(c *config.Config) { c.Admin.TLS, c.HTTP.TLSCert, c.HTTP.TLSKey = true, "c", "k" }, "", ""},
		"an authority, and no TLS":         {func(c *config.Config) { c.Redis.TLSCA = "ca" }, "redis.tls_ca", "set redis.tls to true"},
		"a name, and no TLS":               {func(c *config.Config) { c.MySQL.TLSServerName = "db" }, "mysql.tls_server_name", "set mysql.tls to true"},
		"a certificate, and no TLS":        {func(c *config.Config) { etcd(c); c.Lock.TLSCert, c.Lock.TLSKey = "c", "k" }, "lock.tls_cert", "set lock.tls to true"},
		"TLS of Redis and no Redis":        {func(c *config.Config) { c.Redis.TLS, c.Redis.Addrs, c.MySQL.DSN = true, nil, "" }, "redis.tls", "of your own"},
		"TLS of MySQL and no MySQL":        {func(c *config.Config) { c.MySQL.TLS, c.Redis.Addrs, c.MySQL.DSN = true, nil, "" }, "mysql.tls", "of your own"},
		"TLS of MySQL in two places":       {func(c *config.Config) { c.MySQL.TLS, c.MySQL.DSN = true, dsn(times+"&tls=true") }, "mysql.dsn", "beside mysql.tls"},
		"TLS of MySQL":                     {func(c *config.Config) { c.MySQL.TLS, c.MySQL.TLSCA = true, "ca" }, "", ""},
		"TLS of locks that are in Redis":   {func(c *config.Config) { c.Lock.TLS = true }, "lock.tls", "for lock.backend etcd or zookeeper"},
		"a user of locks that are in SQL":  {func(c *config.Config) { c.Lock.Backend, c.Lock.Username = "mysql", "u" }, "lock.tls", "for lock.backend etcd or zookeeper"},
		"a user without a password":        {func(c *config.Config) { etcd(c); c.Lock.Username = "u" }, "lock.username", "belong together"},
		"a user of etcd":                   {func(c *config.Config) { etcd(c); c.Lock.Username, c.Lock.Password, c.Lock.TLS = "u", "p", true }, "", ""},
		"a user of sentinels, and no such": {func(c *config.Config) { c.Redis.SentinelUsername = "u" }, "redis.master_name", "redis.mode sentinel"},
	} {
		t.Run(name, func(t *testing.T) {
			c := real(t)
			tc.change(&c)
			err := c.Validate()
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			var wrong *config.KeyError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, tc.key, wrong.Keys[0])
			require.ErrorContains(t, err, tc.why)
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}
