package lab

import (
	"time"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/tools/lab/harness"
)

// longerThanLease shows that work can take longer than any lease chosen beforehand.
func longerThanLease() Experiment {
	const lease = 900 * time.Millisecond

	fixed := func(a *Actor) {
		setNXPX(a, "lock", "a", lease)
		a.Enter()
		a.WorkPast("lock", "works for longer than the lease", lease+lease/5)
		a.Leave()
		unlock(a, "lock", "a")
	}
	renewed := func(a *Actor) {
		a.Use(a.Run().NewLocker(redislock.New(a.Run().Redis(), redislock.Options{}), lock.Options{Lease: lease}))
		a.Lock("lock")
		a.Enter()
		a.WorkPast("lock", "works for longer than the lease", lease+lease/5)
		a.Leave()
		a.Unlock("lock")
	}
	play := func(slow, next func(a *Actor)) func(run *Run) {
		return func(run *Run) {
			run.OneInside()
			first := run.Actor("worker 1", slow)
			second := run.Actor("worker 2", next)
			run.Schedule(first.Until("comes out"), second.Until("comes out"), first.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "longer-than-lease",
		Title: text("Work that takes longer than the lease", "业务执行时间超过租约"),
		Lesson: text(
			"A lease that is not renewed ends in the middle of the work, and the next one comes in. Renewal at a third of the lease keeps it "+
				"for as long as the process lives; a process that dies stops renewing, so the key is free soon after.",
			"不续期的租约会在业务中途失效，下一个进程随即进入。按租约的三分之一续期，进程活着锁就在；进程死了续期停止，锁很快自动释放。"),
		Wild:  text("A lease of 30 s was long enough until the day on which the database was slow.", "30 秒的租约一直够用，直到某天数据库变慢。"),
		Needs: []harness.Server{harness.RealRedis},
		Cases: []Case{
			wrong(text("a fixed lease", "固定租约"), play(fixed, func(a *Actor) {
				if setNXPX(a, "lock", "b", long) {
					a.Enter()
					a.Leave()
					unlock(a, "lock", "b")
				}
			})),
			right(text("a renewed lease", "自动续期的租约"), play(renewed, func(a *Actor) {
				a.Lock("lock")
				a.Enter()
				a.Leave()
				a.Unlock("lock")
			})),
		},
	}
}
