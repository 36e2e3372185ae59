package e2e_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/preflight"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestCheck_EveryServer_RunsBeforeServing(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	dsn := ownDatabase(t)
	s := newShopOver(t, dsn)
	fine := run(t, s.env, "check")
	assert.Zero(t, fine.code(), fine.err.String())
	for _, name := range []string{"role", "eviction", "memory", "persistence", "connections", "rights", "writes", "clock", "durability", "isolation"} {
		assert.Regexp(t, `(?m)^(fine|warning) .* `+name+` `, fine.out.String())
	}
	assert.NotContains(t, fine.out.String(), "refused")
	i := s.instance(t)
	within(t, 5*time.Second, func() error {
		if !strings.Contains(i.err.String(), "appendonly") {
			return errors.New("what is a warning is not in the log")
		}
		return nil
	})
	assert.Zero(t, i.stop(t))

	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	global := func(set string) func() error {
		return func() error { _, err := db.ExecContext(t.Context(), "SET GLOBAL "+set); return err }
	}
	config := func(name, value string) func() error {
		return func() error { return s.redis.ConfigSet(t.Context(), name, value).Err() }
	}
	env := func(more ...string) []string { // without the ports that others may use
		return slices.Concat([]string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}, s.env, more)
	}
	for name, c := range map[string]struct {
		wrong, right func() error
		says         []string
	}{
		"eviction":       {config("maxmemory-policy", "allkeys-lru"), config("maxmemory-policy", "noeviction"), []string{"eviction", "allkeys-lru", "noeviction"}},
		"read only":      {global("read_only = 1"), global("read_only = 0"), []string{"database", "read_only is ON"}},
		"no replicas":    {config("min-replicas-to-write", "1"), config("min-replicas-to-write", "0"), []string{"min-replicas-to-write"}},
		"no connections": {global("max_connections = 40"), global("max_connections = 500"), []string{"mysql.max_open", "max_connections is 40"}},
	} {
		require.NoError(t, c.wrong(), name)
		found, refused := run(t, s.env, "check"), run(t, env(), "serve")
		require.NoError(t, c.right(), name)
		assert.Equal(t, 1, found.code(), name)
		assert.Contains(t, found.out.String(), "refused")
		assert.Equal(t, 2, refused.code(), "%s: %s", name, refused.err.String())
		assert.Equal(t, 1, strings.Count(refused.err.String(), "\n"), "%s: %s", name, refused.err.String())
		for _, word := range c.says {
			assert.Contains(t, found.out.String(), word, name)
			assert.Contains(t, refused.err.String(), word, name)
		}
	}
	replica := testservers.NewRedis(t, servers.ReplicaOf(s.redis.(*redis.Client).Options().Addr)).Addr()
	refused := run(t, env("SECKILL_REDIS__ADDRS="+replica), "serve")
	assert.Equal(t, 2, refused.code(), refused.err.String())
	assert.Contains(t, refused.err.String(), "it is a replica of")

	away := run(t, env("SECKILL_REDIS__ADDRS=127.0.0.1:1"), "check")
	assert.Equal(t, 1, away.code())
	assert.Contains(t, away.err.String(), "127.0.0.1:1")
	none := run(t, nil, "check")
	assert.Equal(t, 2, none.code())
	empty := run(t, env("SECKILL_MYSQL__DSN="+testservers.DSN(t)), "check")
	assert.Equal(t, 1, empty.code(), empty.out.String())
	assert.Regexp(t, `(?m)^refused .* there is no table coupons.*run seckill migrate`, empty.out.String())
}

// The rights that a user is told it needs are enough for a whole sale.
func TestRedisGrant_WholeSale_NeedsNoOtherRights(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	for _, mode := range []string{"sync", "queue"} {
		s := newShop(t, append(impatient(), "SECKILL_ORDER__MODE="+mode)...)
		use := preflight.RedisUse{Username: "app", Prefix: "seckill:"}
		args := []any{"ACL", "SETUSER", "app", "on", ">pw"}
		for word := range strings.FieldsSeq(strings.TrimPrefix(use.Grant(), "ACL SETUSER app ")) {
			args = append(args, word)
		}
		require.NoError(t, s.redis.Do(t.Context(), args...).Err())
		s = s.with("SECKILL_REDIS__USERNAME=app", "SECKILL_REDIS__PASSWORD=pw", "SECKILL_ORDER__PAYMENT_TIMEOUT=1s")
		i := s.instance(t)
		id := i.sale(t, 6, 1)
		for user := range int64(8) {
			i.as(t, user+1).buy(id, "k")
		}
		i.asAdmin(t).do(http.MethodPost, "/api/v1/admin/coupons/"+id+"/pause", "")
		s.auditedTwice(t, i, id)
		denied, err := s.redis.Do(t.Context(), "ACL", "LOG").Slice()
		require.NoError(t, err)
		for _, one := range denied { // CONFIG is asked for what it may tell, and not needed
			assert.Contains(t, fmt.Sprint(one), "object:config|get", "%s: what Redis refused", mode)
		}
		assert.NotContains(t, i.err.String(), "NOPERM")
	}
}

// apart is whether the instance knows that a clock is apart.
func (i *instance) apart(t *testing.T, want int) {
	t.Helper()
	within(t, 10*time.Second, func() error {
		if got := httpStatus(t, i.admin+"/readyz"); got != want {
			return fmt.Errorf("readyz is %d", got)
		}
		return nil
	})
}

func TestReadiness_ClockSkewed_IsNotReady(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	moved := testservers.NewClock(t)
	r := testservers.NewRedis(t, servers.ByClock(moved))
	s := shop{redis: redis.NewClient(&redis.Options{Addr: r.Addr()})}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with("SECKILL_REDIS__ADDRS=" + r.Addr()).on(migratedDSN(t))
	i := s.instance(t)
	i.apart(t, http.StatusOK)
	testservers.Move(t, moved, -3*time.Second)
	within(t, 10*time.Second, func() error {
		if !strings.Contains(i.err.String(), "clocks are apart") {
			return errors.New("nothing is said")
		}
		return nil
	})
	i.apart(t, http.StatusOK)
	assert.Regexp(t, `seckill_clock_offset_seconds\{server="`+r.Addr()+`"\} (2\.9|3)`, textOf(t, i.admin+"/metrics"))
	assert.Contains(t, textOf(t, i.admin+"/metrics"), `seckill_clock_offset_seconds{server="database"}`)
	time.Sleep(3 * time.Second)
	assert.Equal(t, 1, strings.Count(i.err.String(), "clocks are apart"), "once a minute")

	testservers.Move(t, moved, 8*time.Second)
	i.apart(t, http.StatusServiceUnavailable)
	late := run(t, s.env, "check")
	assert.Equal(t, 1, late.code())
	assert.Regexp(t, `refused +`+r.Addr()+` +clock +this machine's clock is [78].* behind`, late.out.String())
	testservers.Move(t, moved, 0)
	i.apart(t, http.StatusOK)
}

func textOf(t testing.TB, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}
