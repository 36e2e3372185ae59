package config

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-sql-driver/mysql"
)

// Embedded reports whether both stores live in this process. A configuration
// that passed Validate has both embedded or neither.
func (c Config) Embedded() bool { return c.MySQL.DSN == "" && len(c.Redis.Addrs) == 0 }

// checkStores rejects one real store together with an embedded one. With such a pair, orders would outlive their
// stock, or the stock would outlive its orders.
func (c Config) checkStores(wrong *problems) {
	switch {
	case c.MySQL.DSN != "" && len(c.Redis.Addrs) == 0:
		wrong.add("mysql.dsn is set and redis.addrs is empty: set SECKILL_REDIS__ADDRS too, or neither for embedded stores",
			"redis.addrs", "mysql.dsn")
	case c.MySQL.DSN == "" && len(c.Redis.Addrs) > 0:
		wrong.add("redis.addrs is set and mysql.dsn is empty: set SECKILL_MYSQL__DSN too, or neither for embedded stores",
			"mysql.dsn", "redis.addrs")
	}
}

func (c Config) checkRedis(wrong *problems) {
	r := c.Redis
	for i, addr := range r.Addrs {
		if !isHostPort(addr, 1) || strings.HasPrefix(addr, ":") {
			wrong.add(fmt.Sprintf("redis.addrs: entry %d must be host:port, such as 10.0.0.5:6379", i+1), "redis.addrs")
		}
	}
	if r.Mode == "single" && len(r.Addrs) > 1 {
		wrong.add("redis.addrs must be one address while redis.mode is single: set redis.mode to sentinel or cluster",
			"redis.addrs", "redis.mode")
	}
	if r.Mode != "single" && len(r.Addrs) == 0 {
		wrong.add("redis.addrs is empty while redis.mode asks for servers: set redis.addrs", "redis.addrs", "redis.mode")
	}
	if r.Mode == "sentinel" && r.MasterName == "" {
		wrong.add("redis.master_name is empty: sentinel mode needs the name that the sentinels know the master by",
			"redis.master_name", "redis.mode")
	}
	if r.Mode != "sentinel" && (r.MasterName != "" || r.SentinelUsername != "" || r.SentinelPassword != "") {
		wrong.add("redis.master_name, redis.sentinel_username and redis.sentinel_password are for redis.mode sentinel: "+
			"set that, or leave them out", "redis.master_name", "redis.sentinel_username", "redis.sentinel_password", "redis.mode")
	}
	if r.Mode == "cluster" && r.DB != 0 {
		wrong.add("redis.db must be 0 in cluster mode: a cluster has one database", "redis.db", "redis.mode")
	}
	if !isPrefix(r.Prefix) {
		wrong.add("redis.prefix must be 1 to 64 letters, digits, dots, dashes, underscores and colons, such as seckill:", "redis.prefix")
	}
	if r.Timeout > c.HTTP.RequestTimeout {
		wrong.add("redis.timeout must not exceed http.request_timeout: it is a part of it",
			"redis.timeout", "http.request_timeout")
	}
}

// usualPrefix is the default of redis.prefix.
const usualPrefix = "seckill:"

// usualLockPrefix begins the locks in etcd and ZooKeeper of a deployment with the default redis.prefix. Each version
// of the program has used it, so instances of two versions exclude each other.
const usualLockPrefix = "seckill"

// LockPrefix returns the name below which the locks in etcd and ZooKeeper are: lock.prefix, or a name that no
// deployment with another redis.prefix has.
func (c Config) LockPrefix() string {
	switch {
	case c.Lock.Prefix != "":
		return c.Lock.Prefix
	case c.Redis.Prefix == usualPrefix:
		return usualLockPrefix
	}
	return usualLockPrefix + "-" + c.Redis.Prefix
}

// isPrefix reports whether the names of keys may start with p. A brace would move the keys of one shard to different
// nodes of a cluster. A star would be a pattern. A prefix is short, because each key has it.
func isPrefix(p string) bool { return isWord(p, ":._-") }

// isWord reports whether text has 1 to 64 characters, each a letter, a digit or one of others.
func isWord(text, others string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune(others, r) && (r > 'z' || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

func (c Config) checkMySQL(wrong *problems) {
	if c.MySQL.MaxIdle > c.MySQL.MaxOpen {
		wrong.add("mysql.max_idle must not exceed mysql.max_open", "mysql.max_idle", "mysql.max_open")
	}
	if c.MySQL.DSN == "" {
		return
	}
	const key = "mysql.dsn"
	// The driver's error may quote the DSN with the password.
	dsn, err := mysql.ParseDSN(c.MySQL.DSN.Reveal())
	if err != nil {
		wrong.add("mysql.dsn is not a data source name: write "+
			"USER:PASSWORD@tcp(HOST:3306)/DATABASE?timeout=1s&readTimeout=2s&writeTimeout=2s", key)
		return
	}
	// A commit ignores its context, so these timeouts are its only bounds.
	var missing []string
	for _, t := range []struct {
		name string
		set  bool
	}{
		{"timeout", dsn.Timeout > 0}, {"readTimeout", dsn.ReadTimeout > 0}, {"writeTimeout", dsn.WriteTimeout > 0},
	} {
		if !t.set {
			missing = append(missing, t.name)
		}
	}
	if len(missing) > 0 {
		wrong.add("mysql.dsn needs "+strings.Join(missing, ", ")+
			" above zero: add for example timeout=1s&readTimeout=2s&writeTimeout=2s", key)
	}
	if dsn.MultiStatements {
		wrong.add("mysql.dsn must not have multiStatements: remove it, the program asks for it by itself", key)
	}
	if dsn.DBName == "" {
		wrong.add("mysql.dsn names no database: write it after the slash", key)
	}
	for name := range dsn.Params {
		if n := strings.ToLower(name); n == "tx_isolation" || n == "transaction_isolation" {
			wrong.add("mysql.dsn must not set the isolation level: remove it, every transaction sets its own", key)
		}
	}
	c.checkParams(wrong)
}

// unsafeParams maps each DSN parameter that would break the program's statements or expose secrets to the reason.
// checkParams compares the names without regard to case.
var unsafeParams = map[string]string{
	"allowallfiles":            "a server could read files of this machine",
	"allowcleartextpasswords":  "the password would be sent as it is",
	"allowoldpasswords":        "the password could be worked out from what is sent",
	"allowfallbacktoplaintext": "what is in between could turn TLS off",
	"autocommit":               "every statement outside of a transaction is one by itself",
	"foreign_key_checks":       "the schema decides that",
	"unique_checks":            "that no order is made twice rests on them",
	"sql_mode":                 "what is too long or out of range must be refused and not cut",
	"completion_type":          "a commit would begin the next transaction, or end the session",
	"sql_safe_updates":         "the server would refuse statements of the program",
	"sql_select_limit":         "the server would cut results short",
	"sql_big_selects":          "the server would refuse to read a whole sale",
	"tx_read_only":             "the server would take no orders",
	"transaction_read_only":    "the server would take no orders",
}

// checkParams rejects parameters that mysql.Config does not show. It also rejects character sets in which an escaped
// parameter could end early: in GBK a character may end in a backslash.
func (c Config) checkParams(wrong *problems) {
	const key = "mysql.dsn"
	text := c.MySQL.DSN.Reveal()
	_, text, _ = strings.Cut(text[strings.LastIndex(text, "/")+1:], "?")
	for param := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(param, "=")
		why, refused := unsafeParams[strings.ToLower(name)]
		value = strings.ToLower(value)
		switch {
		case refused && (value == "" || value != "0" && value != "false" || strings.Contains(name, "_") || name == "autocommit"):
			wrong.add("mysql.dsn must not have "+name+": remove it, "+why, key)
		case name == "tls" && value == "preferred":
			wrong.add("mysql.dsn must not have tls=preferred: write true, or nothing; "+unsafeParams["allowfallbacktoplaintext"], key)
		case name == "tls" && value == "skip-verify":
			wrong.add("mysql.dsn must not have tls=skip-verify: write true, and set mysql.tls_ca if its authority is your own; "+
				"what is in between could be the server", key)
		case name == "charset" && value != "utf8mb4", name == "collation" && !strings.HasPrefix(value, "utf8mb4_"):
			wrong.add("mysql.dsn must not have another "+name+" than utf8mb4: remove it, the program sets it by itself", key)
		}
	}
}

// Warnings returns a warning for each allowed value that deserves a line in the log at start.
func (c Config) Warnings() []string {
	var out []string
	if c.Auth.DemoLogin && !c.Embedded() {
		out = append(out, "auth.demo_login is on: anybody can be any user")
	}
	if c.Auth.DemoPublic && !isLoopback(c.HTTP.Addr) {
		out = append(out, "auth.demo_public is on: every visitor may become the administrator of this demonstration")
	}
	if c.Auth.TokenTTL > longTTL {
		out = append(out, "auth.token_ttl is longer than a day: a token that was stolen is good for all of it")
	}
	if c.Lock.Backend == "none" {
		out = append(out, "lock.backend is none: requests of one user do not exclude each other, for the lab and tests only")
	}
	if !isLoopback(c.Admin.Addr) {
		out = append(out, "admin.addr can be reached from other machines: profiles and metrics are open to them")
	}
	if dsn, err := mysql.ParseDSN(c.MySQL.DSN.Reveal()); err == nil {
		if dsn.ReadTimeout > c.Lock.TTL {
			out = append(out, "mysql.dsn has a readTimeout longer than lock.ttl: a stalled commit can outlast the lock")
		}
		if dsn.User == "root" && dsn.Passwd == "" {
			out = append(out, "mysql.dsn is of root without a password: anybody who reaches the database owns it")
		}
	}
	return append(out, c.passwordsInTheClear()...)
}

// passwordsInTheClear returns a warning for each password that goes to another machine without TLS.
func (c Config) passwordsInTheClear() (out []string) {
	if dsn, err := mysql.ParseDSN(c.MySQL.DSN.Reveal()); err == nil && dsn.Passwd != "" && dsn.Net == "tcp" &&
		!isLoopback(dsn.Addr) && !c.MySQL.TLS && (dsn.TLSConfig == "" || dsn.TLSConfig == "false") {
		out = append(out, "mysql.dsn has a password and mysql.tls is off: the login crosses a network in the clear")
	}
	if !c.Redis.TLS && (anyAway(c.Redis.Addrs) || c.Lock.Backend == "redlock" && anyAway(c.Lock.Addrs)) {
		if c.Redis.Password != "" {
			out = append(out, "redis.password is set and redis.tls is off: the password crosses a network in the clear")
		}
		if c.Redis.SentinelPassword != "" {
			out = append(out, "redis.sentinel_password is set and redis.tls is off: the password crosses a network in the clear")
		}
	}
	if c.Lock.Password != "" && !c.Lock.TLS && anyAway(c.Lock.Addrs) {
		out = append(out, "lock.password is set and lock.tls is off: the password crosses a network in the clear")
	}
	return out
}

// anyAway reports whether one of the addresses is not on this machine.
func anyAway(addrs []string) bool {
	return slices.ContainsFunc(addrs, func(addr string) bool { return !isLoopback(addr) })
}

// longTTL is the token life above which Warnings returns a warning.
const longTTL = 24 * time.Hour

// FillDevelopment generates the values that an embedded setup needs and the configuration lacks. It returns the keys
// that it filled. It does nothing with real stores.
func (c *Config) FillDevelopment() []string {
	if !c.Embedded() || c.Auth.Secret != "" {
		return nil
	}
	random := make([]byte, 48)
	_, _ = rand.Read(random) // it never fails
	c.Auth.Secret = Secret(base64.RawStdEncoding.EncodeToString(random))
	return []string{"auth.secret"}
}
