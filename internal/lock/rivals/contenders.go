package main

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock/redislock"
	"seckill/internal/servers"
)

// contenders are all locks of a run. Those that were opened are answered with an
// error, too, to be closed.
func (h *house) contenders() (all []contender, err error) {
	one := []*servers.Redis{h.redis}
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
	onRedisAs("redlock, 3 masters", "fence from MariaDB, a durable commit", h.nodes[:3], ourRedlock(h.fences))
	onRedisAs("redlock, 5 masters", "fence from MariaDB, a durable commit", h.nodes, ourRedlock(h.fences))
	onRedisAs("redlock, 5 masters, unfenced", "as redsync does it", h.nodes, ourRedlock(nil))
	onRedisAs("redsync, 5 masters", "its own delays; no fence", h.nodes, theirRedsync)
	all = append(all,
		h.onSQL("mysql, lease row", h.leaseRow),
		h.onSQL("mysql, named", h.named))
	for _, open := range []func() (contender, error){
		func() (contender, error) { return h.onEtcd("etcd", h.ourEtcd) },
		func() (contender, error) { return h.onEtcd("etcd concurrency.Mutex", h.theirEtcd) },
		func() (contender, error) { return h.onZooKeeper("zookeeper") },
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
