package lab

import "example.com/seckill/internal/tools/lab/harness"

// deferUnlock shows that a defer one line too high releases a lock that was never held.
func deferUnlock() Experiment {
	tooHigh := func(token string) func(a *Actor) {
		return func(a *Actor) {
			ours := setNXPX(a, "lock", token, long)
			defer del(a, "lock")
			if !ours {
				return
			}
			a.Enter()
			a.Leave()
		}
	}
	below := func(token string) func(a *Actor) {
		return func(a *Actor) {
			if !setNXPX(a, "lock", token, long) {
				return
			}
			defer unlock(a, "lock", token)
			a.Enter()
			a.Leave()
		}
	}
	play := func(work func(token string) func(a *Actor)) func(run *Run) {
		return func(run *Run) {
			run.OneInside()
			holder := run.Actor("worker 1", work("a"))
			refused := run.Actor("worker 2", work("b"))
			third := run.Actor("worker 3", work("c"))
			run.Schedule(holder.Until("comes out"), refused.ToTheEnd(), third.Until("comes out"), holder.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "defer-unlock",
		Title: text("Unlocking in defer without having locked", "没拿到锁，defer 里却解了锁"),
		Lesson: text("The second worker is refused and goes home, and its deferred unlock frees the first one's lock on the way out. The third "+
			"comes in. The defer belongs below the check, and the release must compare the owner.",
			"第二个进程没拿到锁，返回时 defer 却把第一个进程的锁删了，第三个进程随即闯入。defer 应写在判断之后，释放时还必须比较持有者。"),
		Wild: text("lock(); defer unlock(); if err … is the order in which a hand that is used to sync.Mutex writes it.",
			"习惯了 sync.Mutex 的人会顺手写下 lock(); defer unlock();，然后才检查是否加锁成功。"),
		Needs: []harness.Server{harness.Redis},
		Cases: []Case{
			wrong(text("defer, then check", "先 defer，后检查"), play(tooHigh)),
			right(text("check, then defer", "先检查，后 defer"), play(below)),
		},
	}
}
