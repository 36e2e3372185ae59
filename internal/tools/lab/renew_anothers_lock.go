package lab

import (
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/lab/harness"
)

// renewAnothersLock shows that a watchdog that does not check the owner keeps a dead holder's lock
// alive.
func renewAnothersLock() Experiment {
	compare := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
	blind := func(a *Actor) {
		a.Redis(harness.Write, "PEXPIRE lock "+ms(long), func(s *Step, c *redis.Client) error {
			ok, err := c.PExpire(s.Ctx, a.Run().Key("lock"), long).Result()
			s.Note("renewed: %v", ok)
			return err
		})
	}
	asOwner := func(a *Actor) {
		a.Redis(harness.Write, "EVAL if GET lock = a then PEXPIRE lock "+ms(long), func(s *Step, c *redis.Client) error {
			n, err := compare.Run(s.Ctx, c, []string{a.Run().Key("lock")}, "a", long.Milliseconds()).Int()
			s.Note("renewed: %v", n == 1)
			return err
		})
	}
	play := func(renew func(a *Actor)) func(run *Run) {
		return func(run *Run) {
			run.InTheEnd(text("locks of the dead that are kept alive", "已死进程的锁仍被续期"), 0, func() int64 {
				left, err := run.Redis().PTTL(run.Ctx(), run.Key("lock")).Result()
				run.Must(err)
				if left > long/2 {
					return 1
				}
				return 0
			})
			first := run.Actor("worker 1", func(a *Actor) {
				setNXPX(a, "lock", "a", short)
				a.StallUntilExpired("lock")
				renew(a)
			})
			second := run.Actor("worker 2", func(a *Actor) {
				setNXPX(a, "lock", "b", time.Second)
				a.Crash()
			})
			run.Schedule(first.Until("PEXPIRE", "EVAL"), second.ToTheEnd(), first.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "renew-anothers-lock",
		Title: text("A renewal that renews another's lock", "续期续到了别人的锁上"),
		Lesson: text(
			"The first worker lost its lease and does not know. Its watchdog finds a key of that name and renews it, for ever, although the "+
				"one who has it is dead. Renewal must compare the owner in the same step, and \"not yours\" must end it for good.",
			"第一个进程已失去租约却不自知，看门狗见到同名的键就续期，而真正的持有者早已死去，锁于是永不释放。续期也必须在同一步比较持有者，"+
				"得到“不是你的”就应永远停止。"),
		Wild: text("Watchdogs that are written as EXPIRE in a loop; SETNX as an extension, which even revives a lock that was used and freed.",
			"用循环 EXPIRE 写成的看门狗；或用 SETNX 续期，甚至会复活一把已经释放的锁。"),
		Needs: []harness.Server{harness.Redis},
		Cases: []Case{
			wrong(text("PEXPIRE", "直接 PEXPIRE"), play(blind)),
			right(text("compare and renew in one script", "脚本内比较并续期"), play(asOwner)),
		},
	}
}
