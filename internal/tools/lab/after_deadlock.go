package lab

import "example.com/seckill/internal/tools/lab/harness"

// afterDeadlock shows that error 1213 ends the transaction, and every later statement commits by
// itself.
func afterDeadlock() Experiment {
	// order runs the transaction of a buyer and stops at the statement that is refused, unless
	// goOn.
	order := func(a *Actor, goOn bool) (done bool) {
		a.SQL("BEGIN")
		a.SQL("UPDATE users SET points = points + 1 WHERE id = 42")
		a.SQL("INSERT INTO orders (user_id) VALUES (42)")
		if _, err := a.TrySQL("UPDATE coupons SET stock = stock - 1 WHERE id = 1"); err != nil && !goOn {
			a.SQL("ROLLBACK")
			return false
		}
		a.SQL("INSERT INTO payments (user_id) VALUES (42)")
		a.SQL("COMMIT")
		return true
	}
	ignores := func(a *Actor) { order(a, true) }
	again := func(a *Actor) {
		for range 3 {
			if order(a, false) {
				return
			}
		}
	}
	play := func(buyer func(a *Actor)) func(run *Run) {
		return func(run *Run) {
			run.Tables("coupons (id INT PRIMARY KEY, stock INT)", "users (id INT PRIMARY KEY, points INT)",
				"notes (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT)",
				"orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT)", "payments (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT)")
			run.Exec("INSERT INTO coupons VALUES (1, 10)", "INSERT INTO users VALUES (42, 0)")
			run.AtMost(text("payments without an order", "有付款却无订单"), 0,
				run.Count("SELECT (SELECT COUNT(*) FROM payments) - (SELECT COUNT(*) FROM orders)"))
			batch := run.Actor("batch job", func(a *Actor) {
				a.SQL("BEGIN")
				a.SQL("UPDATE coupons SET stock = stock + 1 WHERE id = 1")
				a.SQL("INSERT INTO notes (user_id) VALUES (1), (2), (3), (4), (5), (6), (7), (8)") // so much that the server chooses the other
				a.SQL("UPDATE users SET points = points + 1 WHERE id = 42")
				a.SQL("COMMIT")
			})
			user := run.Actor("buyer", buyer)
			run.Schedule(batch.Until("UPDATE users"), user.Until("UPDATE coupons"), batch.ToTheEnd(), user.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "after-deadlock",
		Title: text("Going on after a deadlock error", "死锁报错之后继续执行"),
		Lesson: text("Error 1213 has already rolled the whole transaction back. Code that logs it and goes on runs the rest of its statements "+
			"outside of any transaction, each committed by itself: here a payment without an order. After 1213 the whole closure must be run "+
			"again, from BEGIN.",
			"错误 1213 意味着整个事务已被回滚。若只记日志继续往下走，剩下的语句都在事务之外逐条自动提交：这里留下一笔没有订单的付款。"+
				"遇到 1213 必须从 BEGIN 起整体重来。"),
		Wild: text("if err != nil { log.Println(err) } in the middle of a transaction; an ORM hook that swallows an error.",
			"事务中间的 if err != nil { log.Println(err) }；吞掉错误的 ORM 钩子。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("logs it and goes on", "记日志后继续"), play(ignores)),
			right(text("rolls back and begins again", "回滚并整体重来"), play(again)),
		},
	}
}
