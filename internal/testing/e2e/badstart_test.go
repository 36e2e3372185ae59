package e2e_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestServe_CannotStart_SaysInOneLineWhatToDo(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	s := newShop(t)
	i := s.instance(t)
	i.sale(t, 10, 1)
	taken := strings.TrimPrefix(i.url, "http://")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := free.Addr().String() // once it is closed
	require.NoError(t, free.Close())
	locked := testservers.NewRedis(t).Addr()
	lock := redis.NewClient(&redis.Options{Addr: locked})
	require.NoError(t, lock.ConfigSet(t.Context(), "requirepass", "the right one").Err())
	require.NoError(t, lock.Close())
	blind := testservers.NewRedis(t).Addr()
	rights := redis.NewClient(&redis.Options{Addr: blind})
	require.NoError(t, rights.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-@dangerous").Err())
	require.NoError(t, rights.Close())
	db := testservers.MariaDB(t)
	const password = "a-password-that-is-wrong"
	dsn := func(login, addr, name string) string {
		return "SECKILL_MYSQL__DSN=" + login + "@tcp(" + addr + ")/" + name + "?timeout=1s&readTimeout=2s&writeTimeout=2s&parseTime=true"
	}
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "seckill.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
		says []string
	}{
		"nobody at the address of Redis":     {env: []string{"SECKILL_REDIS__ADDRS=" + nobody}, code: 1, says: []string{"redis", nobody}},
		"a Redis that does not answer":       {env: []string{"SECKILL_REDIS__ADDRS=" + silent.Addr().String()}, code: 1, says: []string{"redis", silent.Addr().String()}},
		"a wrong password for Redis":         {env: []string{"SECKILL_REDIS__ADDRS=" + locked, "SECKILL_REDIS__PASSWORD=" + password}, code: 1, says: []string{"redis", "redis.password"}},
		"no password for Redis":              {env: []string{"SECKILL_REDIS__ADDRS=" + locked}, code: 1, says: []string{"redis", "redis.password"}},
		"a fault, in a build without points": {env: []string{"SECKILL_FAULT=commit.after:kill:1"}, code: 2, says: []string{"SECKILL_FAULT"}},
		"a Redis user without INFO":          {env: []string{"SECKILL_REDIS__ADDRS=" + blind, "SECKILL_REDIS__USERNAME=app", "SECKILL_REDIS__PASSWORD=pw"}, code: 2, says: []string{"redis.username", "INFO"}},
		"no such database in Redis":          {env: []string{"SECKILL_REDIS__DB=99"}, code: 1, says: []string{"redis"}},
		"one Redis taken for a cluster":      {env: []string{"SECKILL_REDIS__MODE=cluster"}, code: 1, says: []string{"redis", "cluster"}},
		"a Redis taken for a sentinel":       {env: []string{"SECKILL_REDIS__MODE=sentinel", "SECKILL_REDIS__MASTER_NAME=x"}, code: 1, says: []string{"redis", "sentinel"}},
		"nobody at the address of MySQL":     {env: []string{dsn("root", nobody, "x")}, code: 1, says: []string{"database"}},
		"a MySQL that does not answer":       {env: []string{dsn("root", silent.Addr().String(), "x")}, code: 1, says: []string{"database"}},
		"a wrong password for MySQL":         {env: []string{dsn("somebody:"+password, db.Addr(), "x")}, code: 1, says: []string{"database"}},
		"no such database":                   {env: []string{dsn("root", db.Addr(), "no_such_database")}, code: 1, says: []string{"no_such_database"}},
		"a database without a schema":        {env: []string{"SECKILL_MYSQL__DSN=" + testservers.DSN(t)}, code: 1, says: []string{"run seckill migrate"}},
		"another number of shards":           {env: []string{"SECKILL_STOCK__SHARDS=4"}, code: 2, says: []string{"stock.shards"}},
		"a port that is taken":               {env: []string{"SECKILL_HTTP__ADDR=" + taken}, code: 1, says: []string{"http.addr", taken, "SECKILL_HTTP__ADDR"}},
		"an admin port that is taken":        {env: []string{"SECKILL_ADMIN__ADDR=" + taken}, code: 1, says: []string{"admin.addr", taken, "SECKILL_ADMIN__ADDR"}},
		"an unknown variable":                {env: []string{"SECKILL_LOCK__ADRRS=a:1"}, code: 2, says: []string{"SECKILL_LOCK__ADRRS", "SECKILL_LOCK__ADDRS"}},
		"an unknown key":                     {args: []string{"--config", file("lock:\n  leese: 5s\n")}, code: 2, says: []string{"lock.leese"}},
		"a file that is not there":           {args: []string{"--config", "/nowhere/seckill.yaml"}, code: 2, says: []string{"/nowhere/seckill.yaml"}},
		"a file that is not YAML":            {args: []string{"--config", file("lock: [\n")}, code: 2, says: []string{"seckill.yaml"}},
		"a duration without a unit":          {env: []string{"SECKILL_LOCK__TTL=10"}, code: 2, says: []string{"lock.ttl"}},
		"a duration below zero":              {env: []string{"SECKILL_ORDER__PAYMENT_TIMEOUT=-1s"}, code: 2, says: []string{"order.payment_timeout"}},
		"fewer shards than none":             {env: []string{"SECKILL_STOCK__SHARDS=-1"}, code: 2, says: []string{"stock.shards"}},
		"a lease shorter than two budgets":   {env: []string{"SECKILL_LOCK__TTL=1s"}, code: 2, says: []string{"lock.ttl", "order.tx_timeout"}},
		"a lock that lets everybody in":      {env: []string{"SECKILL_LOCK__BACKEND=none"}, code: 2, says: []string{"lock.backend"}},
		"a lock that nobody knows":           {env: []string{"SECKILL_LOCK__BACKEND=paper"}, code: 2, says: []string{"lock.backend"}},
		"an empty secret":                    {env: []string{"SECKILL_AUTH__SECRET="}, code: 2, says: []string{"auth.secret"}},
		"a short secret":                     {env: []string{"SECKILL_AUTH__SECRET=" + password}, code: 2, says: []string{"auth.secret"}},
		"the secret of the example":          {env: []string{"SECKILL_AUTH__SECRET=put-32-or-more-random-bytes-here-instead"}, code: 2, says: []string{"auth.secret"}},
		"a DSN without timeouts":             {env: []string{"SECKILL_MYSQL__DSN=root:" + password + "@tcp(" + db.Addr() + ")/x"}, code: 2, says: []string{"mysql.dsn", "readTimeout"}},
		"a DSN with several statements":      {env: []string{dsn("root", db.Addr(), "x") + "&multiStatements=true"}, code: 2, says: []string{"mysql.dsn", "multiStatements"}},
		"proxies that are everybody":         {env: []string{"SECKILL_HTTP__TRUSTED_PROXIES=0.0.0.0/0"}, code: 2, says: []string{"http.trusted_proxies"}},
		"a real Redis, an embedded database": {env: []string{"SECKILL_MYSQL__DSN="}, code: 2, says: []string{"mysql.dsn", "redis.addrs"}},
		"a real database, an embedded Redis": {env: []string{"SECKILL_REDIS__ADDRS="}, code: 2, says: []string{"mysql.dsn", "redis.addrs"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := append(append([]string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}, s.env...), c.env...)
			p := run(t, env, append([]string{"serve"}, c.args...)...)
			took := time.Since(p.since)
			said := p.err.String()
			assert.Equal(t, c.code, p.code(), said)
			assert.Less(t, took, 12*time.Second)
			for _, word := range c.says {
				assert.Contains(t, said, word)
			}
			assert.NotContains(t, said, password)
			assert.NotContains(t, said, secret)
			assert.Equal(t, 1, strings.Count(said, "\n"), "lines in %q", said)
			assert.Empty(t, p.out.String())
		})
	}
}
