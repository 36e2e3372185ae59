package config_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/config"
)

// A data source name that is taken is one that the driver reads as it must be, however it is written.
func FuzzDSN_AnyText_IsSafeOrRefused(f *testing.F) {
	const times = "timeout=1s&readTimeout=2s&writeTimeout=2s"
	for _, s := range []string{
		"shop:hunter2@tcp(db:3306)/seckill?" + times, "shop@/d?" + times + "&charset=gbk", "/d?" + times + "&tls=preferred",
		"u@tcp(h:1)/d?" + times + "&multiStatements=true", "a@b/c?d@e(f)/g?" + times + "&allowAllFiles=TRUE", "u@unix(/s)/d?" + times + "&%61utocommit=0",
		"u@tcp(h:1)/d?" + times + "&tls=skip-verify&tls=true", "u@/d?" + times + "&allowCleartextPasswords=1&allowCleartextPasswords=0", "", "?", "/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		if strings.Contains(dsn, "\x00") {
			return // no variable has one
		}
		c, err := config.Load("", []string{
			"SECKILL_MYSQL__DSN=" + dsn, "SECKILL_REDIS__ADDRS=redis:6379", "SECKILL_AUTH__SECRET=" + goodSecret,
		})
		if err != nil || c.MySQL.DSN == "" {
			return
		}
		read, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatalf("%q was taken, and the driver refuses it: %v", dsn, err)
		}
		if read.Timeout <= 0 || read.ReadTimeout <= 0 || read.WriteTimeout <= 0 || read.DBName == "" || read.MultiStatements ||
			read.AllowAllFiles || read.AllowCleartextPasswords || read.AllowOldPasswords || read.AllowFallbackToPlaintext ||
			read.TLSConfig == "preferred" || read.TLSConfig == "skip-verify" || read.Collation != "" && !strings.HasPrefix(strings.ToLower(read.Collation), "utf8mb4_") {
			t.Fatalf("%q was taken as %+v", dsn, read)
		}
		for name := range read.Params {
			switch strings.ToLower(name) {
			case "autocommit", "foreign_key_checks", "unique_checks", "sql_mode", "tx_isolation", "transaction_isolation",
				"completion_type", "sql_safe_updates", "sql_select_limit", "sql_big_selects", "tx_read_only", "transaction_read_only":
				t.Fatalf("%q was taken with %s", dsn, name)
			}
		}
	})
}

// Proxies that are taken leave most addresses to strangers.
func FuzzTrustedProxies_AnyText_NeverTrustsAll(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "0.0.0.0/0", "::ffff:0.0.0.0/96", "::/1", "fc00::/7", "*", "1.2.3.4/0", "fe80::1%eth0", "10.0.0.0/8,0.0.0.0/1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := config.Load("", []string{"SECKILL_HTTP__TRUSTED_PROXIES=" + s})
		if err != nil {
			return
		}
		strangers := 0
		for _, addr := range []string{"9.9.9.9", "81.2.69.142", "203.0.113.7", "198.51.100.1", "2001:db8::1", "::ffff:203.0.113.9"} {
			one := netip.MustParseAddr(addr)
			trusted := false
			for _, text := range c.HTTP.TrustedProxies {
				network, err := netip.ParsePrefix(text)
				trusted = trusted || err == nil && (network.Contains(one) || network.Contains(one.Unmap()))
			}
			if !trusted {
				strangers++
			}
		}
		if len(c.HTTP.TrustedProxies) == 1 && strangers < 4 {
			t.Fatalf("%q trusts nearly everybody", s)
		}
	})
}

// Secrets that are taken are whole, and no two have one name.
func FuzzOldSecrets_AnyText_AreTakenWholeOrRefused(f *testing.F) {
	for _, s := range []string{"a:" + goodSecret, ":" + goodSecret, "a:x,a:y", "a", ",", "../a:x", " a:x , b:y ", "a:b:c"} {
		f.Add(s, "new")
	}
	f.Fuzz(func(t *testing.T, old, id string) {
		all, err := config.Auth{KeyID: id, OldSecrets: config.Secret(old)}.Verifiers()
		if err != nil {
			return
		}
		names := map[string]bool{id: true}
		for _, one := range all {
			if names[one.ID] || one.ID != "" && !strings.Contains(old, one.ID+":") || !strings.Contains(old, one.Secret.Reveal()) {
				t.Fatalf("%q was read as %q", old, one.ID)
			}
			names[one.ID] = true
		}
	})
}
