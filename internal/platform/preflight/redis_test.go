package preflight_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/preflight"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestRedisCheck_GoodServer_Passes(t *testing.T) {
	r := testservers.NewRedis(t, servers.AppendOnly(), servers.Set("appendfsync", "everysec"), servers.Set("maxmemory", "64mb"))
	f := lookAtRedis(t, client(t, r.Addr(), ""), use)
	require.Empty(t, f.Of(preflight.Warning, preflight.Refused))
	require.NoError(t, f.Err())
	for _, name := range []string{"role", "eviction", "memory", "persistence", "connections", "rights", "writes"} {
		requireFound(t, f, name, preflight.Fine)
	}
	for _, line := range lines(t, f) {
		require.Regexp(t, `^fine +redis +\w+ +\S`, line)
	}
}

// The looks leave nothing behind.
func TestRedisCheck_AnyServer_LeavesNothing(t *testing.T) {
	c := client(t, testservers.NewRedis(t).Addr(), "")
	lookAtRedis(t, c, use)
	require.Eventually(t, func() bool { return c.DBSize(t.Context()).Val() == 0 }, 5e9, 1e7, "%v", c.Keys(t.Context(), "*").Val())
}

func TestRedis_UnsafeSetting_NamesFinding(t *testing.T) {
	r := testservers.NewRedis(t)
	c := client(t, r.Addr(), "")
	set := func(name, value string) {
		t.Helper()
		require.NoError(t, c.ConfigSet(t.Context(), name, value).Err())
	}
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-ttl"} {
		set("maxmemory-policy", policy)
		f := lookAtRedis(t, c, use)
		requireFound(t, f, "eviction", preflight.Refused, policy, "noeviction")
		require.ErrorContains(t, f.Err(), policy)
	}
	set("maxmemory-policy", "noeviction")
	requireFound(t, lookAtRedis(t, c, use), "memory", preflight.Warning, "maxmemory")
	set("maxmemory", "1")
	full := lookAtRedis(t, c, use)
	requireFound(t, full, "memory", preflight.Warning, "maxmemory")
	requireFound(t, full, "writes", preflight.Refused, "OOM")
	set("maxmemory", "0")

	requireFound(t, lookAtRedis(t, c, use), "persistence", preflight.Warning, "appendonly")
	set("appendonly", "yes")
	requireFound(t, lookAtRedis(t, c, use), "persistence", preflight.Warning, "appendfsync")
	set("appendfsync", "always")
	requireFound(t, lookAtRedis(t, c, use), "persistence", preflight.Fine)
	set("appendonly", "no") // it does not end while it begins to keep its data

	set("maxclients", "60")
	requireFound(t, lookAtRedis(t, c, use), "connections", preflight.Refused, "maxclients is 60", "redis.pool_size")
	set("maxclients", "69")
	more := []redis.UniversalClient{client(t, r.Addr(), ""), client(t, r.Addr(), "")}
	for _, other := range more {
		require.NoError(t, other.Ping(t.Context()).Err())
	}
	requireFound(t, lookAtRedis(t, c, use), "connections", preflight.Warning, "maxclients is 69")

	set("min-replicas-to-write", "1")
	requireFound(t, lookAtRedis(t, c, use), "role", preflight.Refused, "min-replicas-to-write")
	requireFound(t, lookAtRedis(t, c, use), "writes", preflight.Refused, "NOREPLICAS")
}

func TestRedisCheck_Replica_IsRefused(t *testing.T) {
	primary := testservers.NewRedis(t)
	replica := testservers.NewRedis(t, servers.ReplicaOf(primary.Addr()))
	f := lookAtRedis(t, client(t, replica.Addr(), ""), use)
	requireFound(t, f, "role", preflight.Refused, "replica", primary.Addr(), "redis.addrs")
}

func TestRedisCheck_Cluster_ChecksEveryPrimary(t *testing.T) {
	cluster := testservers.NewCluster(t)
	c, err := redisconn.Open(t.Context(), redisconn.Options{Mode: redisconn.Cluster, Addrs: cluster.Addrs()})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	use := use
	use.Cluster = true
	f := lookAtRedis(t, c, use)
	require.NoError(t, f.Err())
	masters, err := cluster.Masters(t.Context())
	require.NoError(t, err)
	wrong := client(t, masters[2].Addr(), "")
	require.NoError(t, wrong.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	f = lookAtRedis(t, c, use)
	require.Len(t, f.Of(preflight.Refused), 1)
	require.Equal(t, masters[2].Addr(), f.Of(preflight.Refused)[0].Server)
	require.Len(t, f.Of(preflight.Fine, preflight.Warning, preflight.Refused), 7*len(masters))
	require.NoError(t, wrong.ConfigSet(t.Context(), "maxmemory", "1").Err())
	require.NoError(t, wrong.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	f = lookAtRedis(t, c, use)
	require.Equal(t, []string{"writes"}, names(f.Of(preflight.Refused)), "a node is asked to take a key of its own slots")
}

func TestRedisAtWork_PolicyOfOneMaster_IsFoundByOneCommandEach(t *testing.T) {
	cluster := testservers.NewCluster(t)
	c, err := redisconn.Open(t.Context(), redisconn.Options{Mode: redisconn.Cluster, Addrs: cluster.Addrs()})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	masters, err := cluster.Masters(t.Context())
	require.NoError(t, err)
	var mu sync.Mutex
	look := func() (*preflight.Findings, map[string]int64) {
		var f preflight.Findings
		evicted := map[string]int64{}
		require.NoError(t, redisconn.EachPrimary(t.Context(), c, "redis", f.RedisAtWork(func(server string, keys int64) {
			mu.Lock()
			defer mu.Unlock()
			evicted[server] = keys
		})))
		return &f, evicted
	}
	f, evicted := look()
	require.Empty(t, f.Of(preflight.Refused))
	require.Len(t, evicted, len(masters))
	wrong := client(t, masters[1].Addr(), "")
	require.NoError(t, wrong.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	require.NoError(t, wrong.ConfigResetStat(t.Context()).Err())
	f, _ = look()
	require.Len(t, f.Of(preflight.Refused), 1)
	require.Equal(t, masters[1].Addr(), f.Of(preflight.Refused)[0].Server)
	require.Contains(t, f.Of(preflight.Refused)[0].Found, "allkeys-lru")
	stats, err := wrong.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	require.Contains(t, stats, "cmdstat_info:calls=1,")
	require.NotContains(t, stats, "cmdstat_config|get")
}

func names(found []preflight.Finding) (all []string) {
	for _, one := range found {
		all = append(all, one.Name)
	}
	return all
}

func TestRedis_UserLacksRight_NamesRight(t *testing.T) {
	r := testservers.NewRedis(t)
	all := client(t, r.Addr(), "")
	may := func(rights ...any) *preflight.Findings {
		t.Helper()
		require.NoError(t, all.Do(t.Context(), append([]any{"ACL", "SETUSER", "app", "reset", "on", ">app"}, rights...)...).Err())
		use := use
		use.Username = "app"
		return lookAtRedis(t, client(t, r.Addr(), "app"), use)
	}
	requireFound(t, may("~seckill:*", "&*", "+@all", "-@dangerous"), "rights", preflight.Refused, "redis.username app", "INFO", "ACL SETUSER app", "+info")
	for _, one := range []string{"xadd", "hset", "unlink", "evalsha", "publish", "subscribe", "xgroup", "time", "smismember"} {
		f := may("~seckill:*", "&*", "+@all", "-"+one)
		requireFound(t, f, "rights", preflight.Refused, "may not use "+strings.ToUpper(one)+" ", "+"+one)
	}
	requireFound(t, may("~other:*", "&*", "+@all"), "rights", preflight.Refused, "HSET", "~seckill:*")
	requireFound(t, may("~seckill:*", "&other:*", "+@all"), "rights", preflight.Refused, "PUBLISH, SUBSCRIBE", "&seckill:*")

	asked := use
	asked.Username = "app"
	var told []any
	for word := range strings.FieldsSeq(strings.TrimPrefix(asked.Grant(), "ACL SETUSER app ")) {
		told = append(told, word)
	}
	f := may(told...)
	require.NoError(t, f.Err(), "what it is told to be given is enough")
	requireFound(t, f, "rights", preflight.Fine)
}

// Every command that a script calls is tried.
func TestRedisCheck_ScriptCommands_AreAllRequired(t *testing.T) {
	called := regexp.MustCompile(`redis\.p?call\(\s*['"](\w+)['"]`)
	granted := strings.Fields(use.Grant())
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" && filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, one := range called.FindAllStringSubmatch(string(text), -1) {
			files++
			require.Contains(t, granted, "+"+strings.ToLower(one[1]), path)
		}
		return nil
	}))
	require.Greater(t, files, 50)
}

// A command that was renamed is missing as one that is forbidden.
func TestRedisCheck_InfoRenamed_IsRefusedByName(t *testing.T) {
	r := testservers.NewRedis(t, servers.Set("rename-command", "INFO hidden"))
	requireFound(t, lookAtRedis(t, client(t, r.Addr(), ""), use), "rights", preflight.Refused, "INFO", "unknown command")
}
