package lab

import (
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/lab/harness"
)

// setnxThenExpire shows that a process can die between any two commands.
func setnxThenExpire() Experiment {
	inTwo := func(a *Actor) {
		if setNX(a, "lock", "a") {
			a.Crash()
			a.Redis(harness.Acquire, "PEXPIRE lock "+ms(short), func(s *Step, c *redis.Client) error {
				return c.PExpire(s.Ctx, a.Run().Key("lock"), short).Err()
			})
		}
	}
	inOne := func(a *Actor) {
		if setNXPX(a, "lock", "a", short) {
			a.Crash()
		}
	}
	play := func(first func(a *Actor)) func(run *Run) {
		return func(run *Run) {
			run.InTheEnd(text("locks that nobody holds and that never end", "无人持有却永不过期的锁"), 0, func() int64 {
				ttl, err := run.Redis().PTTL(run.Ctx(), run.Key("lock")).Result()
				run.Must(err)
				if ttl == time.Duration(-1) { // Redis: the key exists and has no expiry
					return 1
				}
				return 0
			})
			run.Actor("worker 1", first)
			run.Actor("worker 2", func(a *Actor) {
				a.WaitAtMost("lock", 3*short)
				setNXPX(a, "lock", "b", short)
			})
			run.Schedule()
		}
	}
	return Experiment{
		Name:  "setnx-then-expire",
		Title: text("SETNX and EXPIRE as two commands", "SETNX 与 EXPIRE 分成两条命令"),
		Lesson: text("A process that dies between the two leaves a lock without an end: nobody can ever buy again under that key. "+
			"SET key token NX PX says both at once.",
			"进程若死在两条命令之间，就留下一把永不过期的锁，从此谁也拿不到。用 SET key token NX PX 一条命令同时完成。"),
		Wild: text("Countless tutorials, and every client library's first version before Redis 2.6.12 had SET with NX and PX.",
			"无数教程，以及 Redis 2.6.12 之前几乎所有客户端的第一版分布式锁。"),
		Needs: []harness.Server{harness.Redis},
		Cases: []Case{
			wrong(text("SETNX, then PEXPIRE", "先 SETNX，再 PEXPIRE"), play(inTwo)),
			right(text("SET NX PX", "SET NX PX 一条命令"), play(inOne)),
		},
	}
}
