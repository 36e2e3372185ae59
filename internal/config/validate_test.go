package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// real is a valid configuration with real stores.
func real(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.Auth.Secret = goodSecret
	c.MySQL.DSN = goodDSN
	c.Redis.Addrs = []string{"redis:6379"}
	require.NoError(t, c.Validate())
	return c
}

func dsn(parameters string) config.Secret {
	return config.Secret("shop:hunter2@tcp(db:3306)/seckill?" + parameters)
}

func TestValidate_InvalidConfig_NamesKey(t *testing.T) {
	const times = "timeout=1s&readTimeout=2s&writeTimeout=2s"
	for name, tc := range map[string]struct {
		change func(*config.Config)
		key    string
		why    string
	}{
		"shards below zero":             {func(c *config.Config) { c.Stock.Shards = -1 }, "stock.shards", "from 0 to 1024"},
		"too many shards":               {func(c *config.Config) { c.Stock.Shards = 1025 }, "stock.shards", ""},
		"stale refusals":                {func(c *config.Config) { c.Stock.RefusalTTL = time.Second + 1 }, "stock.refusal_ttl", ""},
		"a stale cache":                 {func(c *config.Config) { c.Coupon.CacheRefresh = time.Second + 1 }, "coupon.cache_refresh", ""},
		"a negative wait":               {func(c *config.Config) { c.Lock.WaitTimeout = -1 }, "lock.wait_timeout", ""},
		"a wait beyond the request":     {func(c *config.Config) { c.Lock.WaitTimeout = 3*time.Second + 1 }, "lock.wait_timeout", "http.request_timeout"},
		"a lease just too short":        {func(c *config.Config) { c.Lock.TTL = 4*time.Second - 1 }, "lock.ttl", "twice order.tx_timeout"},
		"an unknown lock":               {func(c *config.Config) { c.Lock.Backend = "hunter2" }, "lock.backend", "must be one of redis, redlock"},
		"no lock":                       {func(c *config.Config) { c.Lock.Backend = "none" }, "lock.backend", "SECKILL_ALLOW_UNSAFE_LOCK=1"},
		"an empty lock":                 {func(c *config.Config) { c.Lock.Backend = "" }, "lock.backend", ""},
		"a batch of none":               {func(c *config.Config) { c.Order.BatchSize = 0 }, "order.batch_size", "must be from 1 to 1024"},
		"an unknown way to answer":      {func(c *config.Config) { c.Order.Mode = "hunter2" }, "order.mode", "must be one of sync, queue"},
		"no room in the queue":          {func(c *config.Config) { c.Order.QueueCapacity = 0 }, "order.queue_capacity", "from 1 to 1000000"},
		"a queue that is not settled":   {func(c *config.Config) { c.Order.Mode, c.Order.QueueMaxAge = "queue", 19*time.Second }, "order.queue_max_age", "28s together"},
		"a transaction beyond":          {func(c *config.Config) { c.Order.TxTimeout, c.Lock.TTL = 4*time.Second, 8*time.Second }, "order.tx_timeout", "http.request_timeout"},
		"settling too early":            {func(c *config.Config) { c.Order.ReconcileAfter = time.Second }, "order.reconcile_after", "order.tx_timeout"},
		"settling too late":             {func(c *config.Config) { c.Order.ReconcileAfter = 26 * time.Second }, "order.reconcile_after", "25s"},
		"an unknown purchase token":     {func(c *config.Config) { c.Order.PurchaseToken = "hunter2" }, "order.purchase_token", "must be one of off, required"},
		"a weak purchase secret":        {func(c *config.Config) { c.Order.PurchaseTokenSecret = "x" }, "order.purchase_token_secret", "at least 32 bytes"},
		"a proof that is not asked for": {func(c *config.Config) { c.Order.VerifyURL = "https://captcha.internal" }, "order.verify_url", "order.purchase_token required"},
		"a proof of no server":          {func(c *config.Config) { c.Order.PurchaseToken, c.Order.VerifyURL = "required", "hunter2" }, "order.verify_url", "must be a URL"},
		"purchase tokens unsigned": {func(c *config.Config) {
			c.Order.PurchaseToken, c.Auth.Secret, c.Auth.JWKSFile = "required", "", "keys.json"
		}, "order.purchase_token_secret", "needs a secret"},
		"an unknown generator":          {func(c *config.Config) { c.ID.Generator = "hunter2" }, "id.generator", "snowflake, daily"},
		"an unknown level":              {func(c *config.Config) { c.Log.Level = "hunter2" }, "log.level", "debug, info, warn, error"},
		"an unknown format":             {func(c *config.Config) { c.Log.Format = "hunter2" }, "log.format", ""},
		"an unknown mode":               {func(c *config.Config) { c.Redis.Mode = "hunter2" }, "redis.mode", "single, sentinel, cluster"},
		"no burst":                      {func(c *config.Config) { c.RateLimit.Burst = 0 }, "rate_limit.burst", ""},
		"a negative rate":               {func(c *config.Config) { c.RateLimit.PerUser = -1 }, "rate_limit.per_user", ""},
		"no secret":                     {func(c *config.Config) { c.Auth.Secret = "" }, "auth.secret", "is empty: set SECKILL_AUTH__SECRET"},
		"a short secret, embedded":      {func(c *config.Config) { c.Auth.Secret, c.MySQL.DSN, c.Redis.Addrs = "x", "", nil }, "auth.secret", "at least 32 bytes"},
		"a short secret":                {func(c *config.Config) { c.Auth.Secret = config.Secret(goodSecret[1:]) }, "auth.secret", "at least 32 bytes"},
		"the example's secret":          {func(c *config.Config) { c.Auth.Secret = config.ExampleSecret }, "auth.secret", "is public"},
		"the playground's secret":       {func(c *config.Config) { c.Auth.Secret = "a-playground-secret-that-is-no-secret-at-all" }, "auth.secret", "is public"},
		"a public one, said otherwise":  {func(c *config.Config) { c.Auth.Secret = " A-Playground-secret-that-is-no-secret-at-all" }, "auth.secret", "is public"},
		"one letter as a secret":        {func(c *config.Config) { c.Auth.Secret = config.Secret(strings.Repeat("a", 32)) }, "auth.secret", "too few different"},
		"seven letters as a secret":     {func(c *config.Config) { c.Auth.Secret = "gcfedabacfgdebacdfeagbcafdegcabdf" }, "auth.secret", "too few different"},
		"a word again and again":        {func(c *config.Config) { c.Auth.Secret = config.Secret(strings.Repeat("hunter2-secret/", 3)) }, "auth.secret", "repeats a shorter"},
		"a word that breaks off":        {func(c *config.Config) { c.Auth.Secret = config.Secret(strings.Repeat("hunter2-secret/", 3)[:40]) }, "auth.secret", "repeats a shorter"},
		"the alphabet as a secret":      {func(c *config.Config) { c.Auth.Secret = "abcdefghijklmnopqrstuvwxyz0123456789" }, "auth.secret", "is a sequence"},
		"the alphabet, from its end":    {func(c *config.Config) { c.Auth.Secret = "zyxwvutsrqponmlkjihgfedcba9876543210" }, "auth.secret", "is a sequence"},
		"an address without a port":     {func(c *config.Config) { c.HTTP.Addr = "hunter2" }, "http.addr", "host:port"},
		"a port by name":                {func(c *config.Config) { c.HTTP.Addr = "localhost:http" }, "http.addr", ""},
		"a port too large":              {func(c *config.Config) { c.Admin.Addr = "localhost:65536" }, "admin.addr", ""},
		"a signed port":                 {func(c *config.Config) { c.Admin.Addr = "localhost:+80" }, "admin.addr", ""},
		"an URL":                        {func(c *config.Config) { c.HTTP.Addr = "http://hunter2:80" }, "http.addr", ""},
		"one that is no demonstration":  {func(c *config.Config) { c.Auth.DemoPublic = true }, "auth.demo_public", "embedded stores"},
		"one address for both":          {func(c *config.Config) { c.Admin.Addr = c.HTTP.Addr }, "admin.addr", "differ from http.addr"},
		"a request longer than writing": {func(c *config.Config) { c.HTTP.WriteTimeout = time.Second }, "http.request_timeout", "http.write_timeout"},
		"a hasty end":                   {func(c *config.Config) { c.HTTP.ShutdownTimeout = time.Second }, "http.shutdown_timeout", "http.request_timeout"},
		"Redis alone":                   {func(c *config.Config) { c.MySQL.DSN = "" }, "mysql.dsn", "redis.addrs is set"},
		"the database alone":            {func(c *config.Config) { c.Redis.Addrs = nil }, "redis.addrs", "mysql.dsn is set"},
		"two single servers":            {func(c *config.Config) { c.Redis.Addrs = []string{"a:1", "b:1"} }, "redis.addrs", "sentinel or cluster"},
		"a Redis without a port":        {func(c *config.Config) { c.Redis.Addrs = []string{"hunter2"} }, "redis.addrs", "entry 1"},
		"a Redis at port 0":             {func(c *config.Config) { c.Redis.Addrs = []string{"a:0"} }, "redis.addrs", "entry 1"},
		"a Redis without a host":        {func(c *config.Config) { c.Redis.Addrs = []string{":6379"} }, "redis.addrs", "entry 1"},
		"a Redis URL":                   {func(c *config.Config) { c.Redis.Addrs = []string{"redis://u:hunter2@a:1"} }, "redis.addrs", "entry 1"},
		"an empty Redis entry":          {func(c *config.Config) { c.Redis.Mode, c.Redis.Addrs = "cluster", []string{"a:1", ""} }, "redis.addrs", "entry 2"},
		"sentinels without a name":      {func(c *config.Config) { c.Redis.Mode = "sentinel" }, "redis.master_name", "is empty"},
		"a master name without":         {func(c *config.Config) { c.Redis.MasterName = "hunter2" }, "redis.master_name", "sentinel"},
		"a sentinel password without":   {func(c *config.Config) { c.Redis.SentinelPassword = "hunter2" }, "redis.sentinel_password", "sentinel"},
		"a database of a cluster":       {func(c *config.Config) { c.Redis.Mode, c.Redis.DB = "cluster", 1 }, "redis.db", "must be 0"},
		"no prefix":                     {func(c *config.Config) { c.Redis.Prefix = "" }, "redis.prefix", "1 to 64"},
		"a prefix with braces":          {func(c *config.Config) { c.Redis.Prefix = "{hunter2}:" }, "redis.prefix", "1 to 64"},
		"a prefix that is a pattern":    {func(c *config.Config) { c.Redis.Prefix = "hunter2*" }, "redis.prefix", "1 to 64"},
		"a long prefix":                 {func(c *config.Config) { c.Redis.Prefix = strings.Repeat("p", 65) }, "redis.prefix", "1 to 64"},
		"a slow Redis":                  {func(c *config.Config) { c.Redis.Timeout = 4 * time.Second }, "redis.timeout", "http.request_timeout"},
		"more idle than open":           {func(c *config.Config) { c.MySQL.MaxIdle = 65 }, "mysql.max_idle", "mysql.max_open"},
		"a DSN of another kind":         {func(c *config.Config) { c.MySQL.DSN = "mysql://shop:hunter2@db" }, "mysql.dsn", "not a data source name"},
		"a DSN in pieces":               {func(c *config.Config) { c.MySQL.DSN = "hunter2" }, "mysql.dsn", "not a data source name"},
		"a DSN with a bad parameter":    {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&tls=hunter2") }, "mysql.dsn", "not a data source name"},
		"a DSN without times":           {func(c *config.Config) { c.MySQL.DSN = dsn("") }, "mysql.dsn", "needs timeout, readTimeout, writeTimeout above"},
		"a DSN without timeout":         {func(c *config.Config) { c.MySQL.DSN = dsn("readTimeout=2s&writeTimeout=2s") }, "mysql.dsn", "needs timeout above"},
		"a DSN without readTimeout":     {func(c *config.Config) { c.MySQL.DSN = dsn("timeout=1s&writeTimeout=2s") }, "mysql.dsn", "needs readTimeout above"},
		"a DSN without writeTimeout":    {func(c *config.Config) { c.MySQL.DSN = dsn("timeout=1s&readTimeout=2s") }, "mysql.dsn", "needs writeTimeout above"},
		"a DSN with a zero time":        {func(c *config.Config) { c.MySQL.DSN = dsn("timeout=0s&readTimeout=2s&writeTimeout=2s") }, "mysql.dsn", "needs timeout above"},
		"a DSN with a negative time":    {func(c *config.Config) { c.MySQL.DSN = dsn("timeout=1s&readTimeout=-2s&writeTimeout=2s") }, "mysql.dsn", "needs readTimeout above"},
		"a DSN with many statements":    {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&multiStatements=true") }, "mysql.dsn", "multiStatements"},
		"a DSN with a level (MariaDB)":  {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&tx_isolation=%27READ-COMMITTED%27") }, "mysql.dsn", "isolation"},
		"a DSN with a level (MySQL)":    {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&transaction_isolation=%27READ-COMMITTED%27") }, "mysql.dsn", "isolation"},
		"a DSN in GBK":                  {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&charset=gbk") }, "mysql.dsn", "another charset than utf8mb4"},
		"a DSN that falls back":         {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&charset=utf8mb4,gbk") }, "mysql.dsn", "another charset than utf8mb4"},
		"a DSN with a collation":        {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&collation=gbk_chinese_ci") }, "mysql.dsn", "another collation than utf8mb4"},
		"a DSN that gives files":        {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&allowAllFiles=true") }, "mysql.dsn", "must not have allowAllFiles"},
		"a DSN with a plain password":   {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&allowCleartextPasswords=1") }, "mysql.dsn", "must not have allowCleartextPasswords"},
		"a DSN with an old password":    {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&allowOldPasswords=true") }, "mysql.dsn", "must not have allowOldPasswords"},
		"a DSN that gives up TLS":       {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&allowFallbackToPlaintext=true") }, "mysql.dsn", "must not have allowFallbackToPlaintext"},
		"a DSN that trusts any server":  {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&tls=Skip-Verify") }, "mysql.dsn", "mysql.tls_ca"},
		"a DSN that prefers TLS":        {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&tls=preferred") }, "mysql.dsn", "must not have tls=preferred"},
		"a DSN that commits or not":     {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&autocommit=0") }, "mysql.dsn", "must not have autocommit"},
		"a DSN without checks":          {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&unique_checks=0") }, "mysql.dsn", "must not have unique_checks"},
		"a DSN that cuts":               {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&sql_mode=%27%27") }, "mysql.dsn", "must not have sql_mode"},
		"a DSN that chains commits":     {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&completion_type=1") }, "mysql.dsn", "must not have completion_type"},
		"a DSN that cuts results":       {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&SQL_select_limit=1") }, "mysql.dsn", "must not have SQL_select_limit"},
		"a DSN that takes no orders":    {func(c *config.Config) { c.MySQL.DSN = dsn(times + "&tx_read_only=1") }, "mysql.dsn", "must not have tx_read_only"},
		"a DSN without a database":      {func(c *config.Config) { c.MySQL.DSN = config.Secret("shop:hunter2@tcp(db:1)/?" + times) }, "mysql.dsn", "names no database"},
	} {
		t.Run(name, func(t *testing.T) {
			c := real(t)
			tc.change(&c)
			err := c.Validate()
			require.Error(t, err)
			got := lines(t, err)
			require.Len(t, got, 1)
			require.Contains(t, got[0], tc.key)
			require.Contains(t, got[0], tc.why)
			require.NotContains(t, got[0], canary)
		})
	}
}

func TestLockBackend_OwnServers_MustBeListed(t *testing.T) {
	for name, tc := range map[string]struct {
		backend string
		addrs   []string
		why     string
	}{
		"redlock with five":      {"redlock", []string{"a:1", "b:1", "c:1", "d:1", "e:1"}, ""},
		"redlock with two":       {"redlock", []string{"a:1", "b:1"}, "at least three"},
		"etcd with one":          {"etcd", []string{"a:2379"}, ""},
		"etcd without":           {"etcd", nil, "lock.addrs is empty"},
		"zookeeper without":      {"zookeeper", nil, "lock.addrs is empty"},
		"zookeeper with no port": {"zookeeper", []string{"hunter2"}, "entry 1 must be host:port"},
		"mysql":                  {"mysql", nil, ""},
		"mysql with servers":     {"mysql", []string{"a:1"}, "leave it out"},
		"redis with servers":     {"redis", []string{"a:1"}, "leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			c := real(t)
			c.Lock.Backend, c.Lock.Addrs = tc.backend, tc.addrs
			err := c.Validate()
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.why)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestRedLock_ClockDriftExceedsLease_IsRefused(t *testing.T) {
	c := real(t)
	c.Lock.Backend, c.Lock.Addrs, c.Lock.TTL = "redlock", []string{"a:1", "b:1", "c:1"}, 100*time.Second
	require.ErrorContains(t, c.Validate(), "lock.ttl must not exceed 99s")
	c.Lock.TTL = 99 * time.Second
	require.NoError(t, c.Validate())
}

func TestLock_NodeTimeout_LeavesTimeForTheRestOfACall(t *testing.T) {
	redlock := func(c *config.Config) { c.Lock.Backend, c.Lock.Addrs = "redlock", []string{"a:1", "b:1", "c:1"} }
	for name, tc := range map[string]struct {
		change func(*config.Config)
		why    string
	}{
		"half of a call":             {func(c *config.Config) { redlock(c); c.Lock.NodeTimeout = 250 * time.Millisecond }, ""},
		"more than half of a call":   {func(c *config.Config) { redlock(c); c.Lock.NodeTimeout = 251 * time.Millisecond }, "half of redis.timeout"},
		"the default, of short ones": {func(c *config.Config) { redlock(c); c.Redis.Timeout = 199 * time.Millisecond }, "half of redis.timeout"},
		"a third of a lease": {func(c *config.Config) {
			redlock(c)
			c.Lock.TTL, c.Order.TxTimeout, c.Redis.Timeout, c.Lock.NodeTimeout = 3*time.Second, time.Second, 3*time.Second, time.Second
		}, ""},
		"more than a third of a lease": {func(c *config.Config) {
			redlock(c)
			c.Lock.TTL, c.Order.TxTimeout, c.Redis.Timeout, c.Lock.NodeTimeout = 3*time.Second, time.Second, 3*time.Second, time.Second+1
		}, "a third of lock.ttl"},
		"none":                   {func(c *config.Config) { redlock(c); c.Lock.NodeTimeout = 0 }, "from 1ms to 10s"},
		"of another backend":     {func(c *config.Config) { c.Lock.NodeTimeout = 200 * time.Millisecond }, "for lock.backend redlock: leave it out"},
		"a default, and another": {func(c *config.Config) { c.Redis.Timeout = 10 * time.Millisecond }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := real(t)
			tc.change(&c)
			err := c.Validate()
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.why)
			require.Len(t, lines(t, err), 1)
			require.Contains(t, lines(t, err)[0], "lock.node_timeout")
		})
	}
}

func TestLock_Prefix_IsAWordOfEtcdOrZooKeeper(t *testing.T) {
	of := func(backend, prefix string) func(*config.Config) {
		return func(c *config.Config) {
			c.Lock.Backend, c.Lock.Prefix = backend, prefix
			if backend == "etcd" || backend == "zookeeper" || backend == "redlock" {
				c.Lock.Addrs = []string{"a:1", "b:1", "c:1"}
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*config.Config)
		why    string
	}{
		"etcd":               {of("etcd", "staging"), ""},
		"zookeeper":          {of("zookeeper", "4.staging_a-b:"), ""},
		"redis":              {of("redis", "staging"), "leave it out"},
		"redlock":            {of("redlock", "staging"), "leave it out"},
		"mysql":              {of("mysql", "staging"), "leave it out"},
		"a folder":           {of("etcd", "hunter2/a"), "1 to 64 letters"},
		"the folder above":   {of("zookeeper", ".."), "the first a letter or a digit"},
		"a long one":         {of("etcd", strings.Repeat("p", 65)), "1 to 64 letters"},
		"a letter of others": {of("zookeeper", "\u00e9tat"), "1 to 64 letters"},
	} {
		t.Run(name, func(t *testing.T) {
			c := real(t)
			tc.change(&c)
			err := c.Validate()
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.why)
			require.ErrorContains(t, err, "lock.prefix")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestConfig_LockPrefix_IsOneForEachPrefixOfRedis(t *testing.T) {
	seen := map[string]string{}
	for _, prefix := range []string{"seckill:", "seckill", "seckill-", "depa:", "depa", "depb:", ".", "seckill-depa:"} {
		c := real(t)
		c.Redis.Prefix = prefix
		require.NoError(t, c.Validate())
		got := c.LockPrefix()
		require.Empty(t, seen[got], "%s has the name of another", prefix)
		seen[got] = prefix
		c.Lock.Prefix = "mine"
		require.Equal(t, "mine", c.LockPrefix())
	}
	require.Equal(t, "seckill:", seen["seckill"], "each version has used this one")
}

func TestEmbeddedDatabase_RowLocks_AreRefused(t *testing.T) {
	c := config.Default()
	c.Lock.Backend = "mysql"
	require.ErrorContains(t, c.Validate(), "needs row locks")
}

func TestNoLock_NotAllowedExplicitly_IsRefused(t *testing.T) {
	_, err := config.Load("", []string{"SECKILL_LOCK__BACKEND=none"})
	require.ErrorContains(t, err, "lab and tests only")
	c, err := config.Load("", []string{"SECKILL_LOCK__BACKEND=none", "SECKILL_ALLOW_UNSAFE_LOCK=1"})
	require.NoError(t, err)
	require.Len(t, c.Warnings(), 1)
	for _, off := range []string{"0", ""} {
		_, err = config.Load("", []string{"SECKILL_LOCK__BACKEND=none", "SECKILL_ALLOW_UNSAFE_LOCK=" + off})
		require.Error(t, err)
	}
	_, err = config.Load(file(t, "lock: {allow_unsafe: true}"), nil)
	require.ErrorContains(t, err, "unknown key", "no file can switch it on")
}

func TestAllowWrongDesign_OnlyItsVariable_SetsIt(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "0": false, "": false} {
		c, err := config.Load("", []string{"SECKILL_ALLOW_WRONG_DESIGN=" + value})
		require.NoError(t, err)
		require.Equal(t, want, c.AllowWrongDesign, value)
	}
	_, err := config.Load("", []string{"SECKILL_ALLOW_WRONG_DESIGN=yes"})
	require.ErrorContains(t, err, "SECKILL_ALLOW_WRONG_DESIGN must be 1, or not be set")
	_, err = config.Load(file(t, "allow_wrong_design: true"), nil)
	require.ErrorContains(t, err, "unknown key", "no file can switch it on")
}

// Every number and every duration is held to its limits: one beyond each end is
// refused with the key's name, and the ends themselves are not.
func TestValidate_EveryBound_Holds(t *testing.T) {
	for _, k := range config.Keys() {
		if k.Min == "" {
			continue
		}
		refused := func(text string) bool {
			_, err := config.Load("", []string{k.Variable + "=" + text})
			return err != nil && strings.Contains(err.Error(), k.Path+fmt.Sprintf(" must be from %s to %s", k.Min, k.Max))
		}
		t.Run(k.Path, func(t *testing.T) {
			require.False(t, refused(k.Min))
			require.False(t, refused(k.Max))
			beyond := []string{"-1", "-9223372036854775808", "9223372036854775807"}
			if k.Kind == "duration" {
				beyond = []string{"-1ns", "-1s", "8761h", "2562047h47m16.854775807s"}
				if k.Min != "0s" {
					beyond = append(beyond, "0", "0s", "999us")
				}
			}
			if k.Kind == "ratio" {
				beyond = append(beyond, "-0.000001", "1.000001", "-Inf", "+Inf")
			}
			for _, text := range beyond {
				require.True(t, refused(text), "%s was not refused", text)
			}
		})
	}
}

func TestTraceEndpoint_NotAURL_IsRefused(t *testing.T) {
	for endpoint, good := range map[string]bool{
		"": true, "http://127.0.0.1:4318": true, "https://collector.example/otlp/v1/traces": true,
		"127.0.0.1:4318": false, "grpc://collector:4317": false, "http://": false, "http://me:hunter2@collector:4318": false, "http://a b": false,
	} {
		c := real(t)
		c.Otel.Endpoint = endpoint
		err := c.Validate()
		require.Equal(t, good, err == nil, endpoint)
		if err != nil {
			require.ErrorContains(t, err, "otel.endpoint must be a URL")
			require.NotContains(t, err.Error(), "hunter2")
		}
	}
}

func TestHosts_EntryIsNotAName_IsRefused(t *testing.T) {
	for host, good := range map[string]bool{
		"shop.example": true, "shop-1": true, "": false, "shop.example:80": false, "https://shop.example": false, "*.example": false, "[::1]": false, "a b": false,
	} {
		c := real(t)
		c.HTTP.Hosts = []string{"first", host}
		err := c.Validate()
		require.Equal(t, good, err == nil, host)
		if err != nil {
			require.ErrorContains(t, err, "http.hosts: entry 2 must be a name without a port")
		}
	}
}
