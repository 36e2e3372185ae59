package lab

import "example.com/seckill/internal/tools/lab/harness"

// unlockBeforeCommit is the mistake that this program was built around. The lock is released one
// statement too early, and the next buyer does not see the order that is about to be committed.
func unlockBeforeCommit() Experiment {
	const unlockFirst, commitFirst = true, false

	buy := func(unlockFirst bool) func(a *Actor) {
		return func(a *Actor) {
			a.Lock("user:42")
			a.SQL("BEGIN")
			if a.Number("SELECT COUNT(*) FROM orders WHERE user_id = 42") == 0 {
				a.SQL("INSERT INTO orders (user_id) VALUES (42)")
			}
			if unlockFirst {
				a.Unlock("user:42")
				a.SQL("COMMIT")
			} else {
				a.SQL("COMMIT")
				a.Unlock("user:42")
			}
		}
	}
	play := func(unlockFirst bool) func(run *Run) {
		return func(run *Run) {
			run.Tables("orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT)")
			run.AtMost(ordersOfOneUser, 1, run.Count("SELECT COUNT(*) FROM orders WHERE user_id = 42"))
			tap1 := run.Actor("first tap", buy(unlockFirst))
			tap2 := run.Actor("second tap", buy(unlockFirst))
			run.Schedule(tap1.Until("COMMIT"), tap2.ToTheEnd(), tap1.ToTheEnd(), tap2.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "unlock-before-commit",
		Title: text("The lock is released before the commit", "先释放锁，后提交事务"),
		Lesson: text("A user taps twice. The first tap releases the lock and then commits; in the gap the second one is let in, "+
			"counts the orders, and does not see the one that is not committed yet. Both buy. The lock must be around the whole "+
			"transaction: acquire, begin, commit, release.",
			"用户点了两次。第一个请求先释放锁再提交；就在这个空隙里，第二个请求拿到了锁，统计订单数时看不到尚未提交的那一单，于是两单都成交。"+
				"锁必须包住整个事务：加锁、开启事务、提交、解锁。"),
		Wild: text("Any function that says `defer tx.Commit()` above `defer unlock()`, and every annotation that opens the transaction around "+
			"a method which locks inside.",
			"凡是把 `defer tx.Commit()` 写在 `defer unlock()` 之前的函数，以及在 @Transactional 方法内部加锁、解锁的代码："+
				"方法返回（锁已释放）之后，框架才提交事务。"),
		Needs: []harness.Server{harness.Redis, harness.Database},
		Cases: []Case{
			wrong(text("release, then commit", "先解锁，后提交"), play(unlockFirst)),
			right(text("commit, then release", "先提交，后解锁"), play(commitFirst)),
		},
	}
}

var ordersOfOneUser = text("orders of a user who may have one", "限购一单的用户的订单数")
