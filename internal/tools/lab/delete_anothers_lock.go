package lab

import "example.com/seckill/internal/tools/lab/harness"

// deleteAnothersLock shows that an unlock must check the owner and delete in one step.
func deleteAnothersLock() Experiment {
	plain := func(a *Actor) {
		a.StallPast("lock")
		del(a, "lock")
	}
	look := func(a *Actor) {
		if get(a, "lock") == "a" {
			a.StallPast("lock")
			del(a, "lock")
		}
	}
	compare := func(a *Actor) {
		a.StallPast("lock")
		unlock(a, "lock", "a")
	}

	play := func(release func(a *Actor)) func(run *Run) {
		return func(run *Run) {
			run.OneInside()
			work := func(token string, release func(a *Actor)) func(a *Actor) {
				return func(a *Actor) {
					if !setNXPX(a, "lock", token, long) {
						return
					}
					a.Enter()
					a.Leave()
					release(a)
				}
			}
			slow := run.Actor("worker 1", func(a *Actor) {
				setNXPX(a, "lock", "a", long)
				a.Enter()
				a.Leave() // its work is done; only the release is left
				release(a)
			})
			second := run.Actor("worker 2", work("b", func(a *Actor) { unlock(a, "lock", "b") }))
			third := run.Actor("worker 3", work("c", func(a *Actor) { unlock(a, "lock", "c") }))
			run.Schedule(slow.Until("DEL", "EVAL"), second.Until("comes out"), slow.ToTheEnd(), third.Until("comes out"), second.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "delete-anothers-lock",
		Title: text("Deleting somebody else's lock", "删掉了别人的锁"),
		Lesson: text("The first worker's lease runs out, the second is let in, and then the first one deletes \"its\" lock, which is "+
			"the second's. The third comes in beside the second. Looking first (GET, then DEL) only makes the gap smaller. Compare and "+
			"delete must be one step at the server, with a token that belongs to this one acquisition.",
			"第一个进程的租约到期，第二个进程拿到锁，随后第一个进程删除“自己的”锁，其实是第二个的，于是第三个也进来了。先 GET 再 DEL 只是让空隙变小。"+
				"比较与删除必须在服务端一步完成，并且每次加锁都用新的令牌。"),
		Wild: text("DEL in a finally block is the most copied unlock there is; GET then DEL is its most copied correction.",
			"finally 里的 DEL 是流传最广的解锁写法；先 GET 再 DEL 则是流传最广的“修正”。"),
		Needs: []harness.Server{harness.Redis},
		Cases: []Case{
			wrong(text("DEL", "直接 DEL"), play(plain)),
			wrong(text("GET, then DEL", "先 GET 再 DEL"), play(look)),
			right(text("compare and delete in one script", "脚本内比较并删除"), play(compare)),
		},
	}
}
