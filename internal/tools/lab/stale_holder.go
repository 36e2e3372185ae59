package lab

import (
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/tools/lab/harness"
)

// staleHolder shows that no lock can stop a write that is already on its way, and that a fence can.
func staleHolder() Experiment {
	without := func(cents int, _ uint64) string {
		return fmt.Sprintf("UPDATE prices SET cents = %d WHERE id = 1", cents)
	}
	fenced := func(cents int, fence uint64) string {
		return fmt.Sprintf("UPDATE prices SET cents = %d, fence = %d WHERE id = 1 AND fence <= %d", cents, fence, fence)
	}
	play := func(update func(cents int, fence uint64) string) func(run *Run) {
		return func(run *Run) {
			run.Tables("prices (id INT PRIMARY KEY, cents INT, fence BIGINT UNSIGNED)")
			run.Exec("INSERT INTO prices VALUES (1, 100, 0)")
			var decided atomic.Bool
			overwritten := run.Count("SELECT COUNT(*) FROM prices WHERE cents <> 80")
			run.AtMost(text("decisions of the holder that a former holder has overwritten", "被前任持有者覆盖的现任决定"), 0, func() int64 {
				if !decided.Load() {
					return 0
				}
				return overwritten()
			})
			first := run.Actor("worker 1", func(a *Actor) {
				fence := acquire(a, "price:1", short)
				a.StallUntilExpired("price:1")
				a.SQL(update(90, fence))
			})
			second := run.Actor("worker 2", func(a *Actor) {
				fence := acquire(a, "price:1", long)
				a.SQL(update(80, fence))
				decided.Store(true)
			})
			run.Schedule(first.Until("UPDATE"), second.ToTheEnd(), first.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "stale-holder",
		Title: text("A holder that has lost its lease still writes", "失去租约的持有者仍在写入"),
		Lesson: text(
			"The process is stopped as a whole between its last look at the lock and its write. Its lease runs out, another one takes over and "+
				"writes; then it wakes and writes too. No lock can prevent that. A fence can: each holder has a larger number than the one before, "+
				"and the database refuses a smaller number than it has seen.",
			"进程在最后一次确认持锁与写入之间整个停顿。租约到期，另一个进程接手并写入；随后它醒来，也写了。任何锁都防不住，fencing token 可以："+
				"每个持有者的编号都比前一个大，数据库拒绝比已见过的更小的编号。"),
		Wild: text("Long garbage collections, laptops that sleep, virtual machines that move: HBase had it, and gave the fencing token its name.",
			"长时间的 GC、休眠的机器、迁移的虚拟机；HBase 踩过这个坑，fencing token 由此得名。"),
		Needs: []harness.Server{harness.Redis, harness.Database},
		Cases: []Case{
			wrong(text("without a fence", "没有 fencing token"), play(without)),
			right(text("with a fence", "带 fencing token"), play(fenced)),
		},
	}
}

// acquire takes this program's lock, does not renew it, and returns the fence. A process that is stopped
// as a whole cannot renew its lock either.
func acquire(a *Actor, key string, lease time.Duration) (fence uint64) {
	backend, token := redislock.New(a.Run().Redis(), redislock.Options{}), rand.Text()
	a.Must(harness.Redis, harness.Acquire, "LOCK "+key+" for "+ms(lease)+" ms", func(s *Step) error {
		grant, err := backend.Acquire(s.Ctx, a.Run().Key(key), token, lease)
		fence = grant.Fence
		s.Taken(key)
		s.Note("fence %d", fence)
		return err
	})
	return fence
}
