package main

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/tools/servers"
)

// candidates are all locks of a run. Those that were opened are answered with an
// error, too, to be closed.
func (set *serverSet) candidates() (all []candidate, err error) {
	one := []*servers.Redis{set.Redis}
	onRedisAs := func(name, note string, at []*servers.Redis, build func([]redis.UniversalClient) (*process, error)) {
		c, e := onRedis(name, at, build)
		c.note = note
		if e != nil {
			err = errors.Join(err, e)
			return
		}
		all = append(all, c)
	}
	onRedisAs("redis", "", one, ourRedis(redislock.Options{}))
	all[0].redis = err == nil
	onRedisAs("redis, pipelined", "scripts by go-redis' AutoPipeline", one, ourRedisPipelined)
	onRedisAs("redis, fair", "first come first served across processes", one, ourRedis(redislock.Options{Fair: true}))
	onRedisAs("redsync", "its own delays, 50 to 250 ms; no fence", one, theirRedsync)
	onRedisAs("bsm/redislock", "a try every 10 ms; no fence", one, theirBsm)
	onRedisAs("redlock, 3 masters", "fence from MariaDB, a durable commit", set.nodes[:3], ourRedlock(set.fences))
	onRedisAs("redlock, 5 masters", "fence from MariaDB, a durable commit", set.nodes, ourRedlock(set.fences))
	onRedisAs("redlock, 5 masters, unfenced", "as redsync does it", set.nodes, ourRedlock(nil))
	onRedisAs("redsync, 5 masters", "its own delays; no fence", set.nodes, theirRedsync)
	all = append(all,
		set.onSQL("mysql, lease row", set.leaseRow),
		set.onSQL("mysql, named", set.named))
	for _, open := range []func() (candidate, error){
		func() (candidate, error) { return set.onEtcd("etcd", set.ourEtcd) },
		func() (candidate, error) { return set.onEtcd("etcd concurrency.Mutex", set.theirEtcd) },
		func() (candidate, error) { return set.onZooKeeper("zookeeper") },
	} {
		c, e := open()
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		all = append(all, c)
	}
	return all, err
}
