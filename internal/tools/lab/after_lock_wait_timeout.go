package lab

import "example.com/seckill/internal/tools/lab/harness"

// afterLockWaitTimeout shows that error 1205 rolls back one statement and leaves the transaction
// open.
func afterLockWaitTimeout() Experiment {
	order := func(a *Actor, goOn bool) (done bool) {
		a.SQL("BEGIN")
		a.SQL("INSERT INTO orders (user_id) VALUES (42)")
		if _, err := a.TrySQL("UPDATE coupons SET stock = stock - 1 WHERE id = 1 AND stock > 0"); err != nil && !goOn {
			a.SQL("ROLLBACK")
			return false
		}
		a.SQL("COMMIT")
		return true
	}
	play := func(goOn bool) func(run *Run) {
		return func(run *Run) {
			run.Tables("coupons (id INT PRIMARY KEY, stock INT)", "orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT)")
			run.Exec("INSERT INTO coupons VALUES (1, 10)")
			run.AtMost(text("orders without a unit", "没有扣库存的订单"), 0,
				run.Count("SELECT (SELECT COUNT(*) FROM orders) - (SELECT 10 - stock FROM coupons WHERE id = 1)"))
			slow := run.Actor("slow buyer", func(a *Actor) {
				a.SQL("BEGIN")
				a.SQL("UPDATE coupons SET stock = stock WHERE id = 1")
				a.SQL("ROLLBACK")
			})
			buyer := run.Actor("buyer", func(a *Actor) {
				a.SQL("SET SESSION innodb_lock_wait_timeout = 1")
				for range 3 {
					if order(a, goOn) {
						return
					}
				}
			})
			run.Schedule(slow.Until("ROLLBACK"), buyer.Until("UPDATE"), buyer.BlockedStep(), buyer.Until("BEGIN"), slow.ToTheEnd(), buyer.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "after-lock-wait-timeout",
		Title: text("Going on after a lock-wait timeout", "等锁超时之后继续执行"),
		Lesson: text(
			"Error 1205 rolls back the one statement that waited too long, and the transaction lives on with everything before it. Code that "+
				"goes on commits an order whose unit was never taken. Roll back, and run the whole of it again.",
			"错误 1205 只回滚等待超时的那一条语句，事务和之前的语句都还在。继续执行并提交，就得到一张没有扣库存的订单。应当整体回滚再重来。"),
		Wild: text("The default of innodb_rollback_on_timeout is OFF, and few who handle 1213 handle 1205 too.",
			"innodb_rollback_on_timeout 默认是 OFF；处理了 1213 的代码往往漏掉 1205。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("commits what is left", "把剩下的提交"), play(true)),
			right(text("rolls back and begins again", "回滚并整体重来"), play(false)),
		},
	}
}
