package lab

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/servers"
)

// failover shows that a replica goes on with what it has received, and no more.
func failover() Experiment {
	play := func(replicas int) func(run *Run) {
		return func(run *Run) {
			run.OneInside()
			master := run.PrivateRedis()
			wire := run.Proxy(master.Addr())
			replica := run.PrivateRedis(servers.ReplicaOf(wire.Addr()), servers.Set("repl-ping-replica-period", "3600"))
			onMaster, onReplica := run.Client(master.Addr()), run.Client(replica.Addr())
			run.Eventually("the replica follows", func() bool {
				info, err := onReplica.Info(run.Ctx(), "replication").Result()
				return err == nil && strings.Contains(info, "master_link_status:up")
			})

			work := func(c *redis.Client, replicas int) func(a *Actor) {
				backend := redislock.New(c, redislock.Options{Replicas: replicas, ReplicaTimeout: 50 * time.Millisecond})
				return func(a *Actor) {
					if grants(a, backend, fmt.Sprintf("LOCK user:42, WAIT %d", replicas)) {
						a.Enter()
						a.Leave()
					}
				}
			}
			first := run.Actor("first tap", work(onMaster, replicas))
			second := run.Actor("second tap", work(onReplica, 0)) // no replica is left to wait for
			world := run.Actor("world", func(a *Actor) {
				happens(a, "the replica lags", func(*Step) error { wire.Stall(); return nil })
				happens(a, "the master dies", func(*Step) error { return master.Kill() })
				happens(a, "the replica is promoted", func(s *Step) error { return onReplica.ReplicaOf(s.Ctx, "NO", "ONE").Err() })
			})
			run.Schedule(world.Steps(1), first.Until("comes out"), world.ToTheEnd(), second.Until("comes out"), first.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "failover",
		Title: text("A failover that loses the lock", "主从切换弄丢了锁"),
		Lesson: text(
			"Redis replicates after it has answered. A master that dies before its replica heard of the grant takes the grant with it: the "+
				"new master knows nothing and lets the next one in. WAIT makes the grant count only when a replica has it; here no replica answers "+
				"in time, so nobody is let in at all. Even WAIT does not choose which replica is promoted: the fence is still needed.",
			"Redis 先应答、后复制。主库若在副本得知之前死去，锁就随之消失：新主库一无所知，放进下一个。WAIT 让加锁只在副本也有之后才算数；"+
				"这里副本没有及时应答，于是谁也不放进来。即便如此，WAIT 也不能决定提升哪个副本，fencing token 仍不可少。"),
		Wild:  text("Every Sentinel and Cluster failover, every managed Redis on its maintenance day.", "哨兵与集群的每一次切换，云上 Redis 的每一次维护。"),
		Needs: []harness.Server{harness.RealRedis, harness.OwnRedis},
		Cases: []Case{
			wrong(text("the master's word is enough", "主库说了算"), play(0)),
			right(text("WAIT for a replica", "WAIT 等待副本确认"), play(1)),
		},
	}
}

// grants is the step that asks a backend for the lock, and reports whether it was granted.
func grants(a *Actor, backend interface {
	Acquire(ctx context.Context, key, token string, lease time.Duration) (grant, error)
}, what string,
) (ours bool) {
	err := a.Do(harness.Redis, harness.Acquire, what, func(s *Step) error {
		g, err := backend.Acquire(s.Ctx, a.Run().Key("user:42"), rand.Text(), long)
		if err == nil {
			s.Note("fence %d", g.Fence)
			s.Taken("user:42")
		}
		return err
	})
	return err == nil
}

// happens is a step that no actor takes: it befalls them.
func happens(a *Actor, what string, do func(s *Step) error) {
	a.Must(harness.Process, harness.Fault, what, do)
}
