package lab

import "example.com/seckill/internal/tools/lab/harness"

// compareAndSetABA shows that an unchanged value does not prove that nothing happened.
func compareAndSetABA() Experiment {
	play := func(condition, bump string) func(run *Run) {
		return func(run *Run) {
			run.Tables("seats (id INT PRIMARY KEY, state VARCHAR(10), cents INT, version INT)",
				"sold (id INT AUTO_INCREMENT PRIMARY KEY, paid INT, price INT)")
			run.Exec("INSERT INTO seats VALUES (7, 'free', 100, 1)")
			run.AtMost(text("seats sold at a price that was no longer offered", "按已失效价格卖出的座位"), 0,
				run.Count("SELECT COUNT(*) FROM sold WHERE paid <> price"))
			slow := run.Actor("slow buyer", func(a *Actor) {
				cents := a.Number("SELECT cents FROM seats WHERE id = 7 AND state = 'free'")
				if a.SQL("UPDATE seats SET state = 'taken'"+bump+" WHERE id = 7 AND "+condition) == 1 {
					a.SQL("INSERT INTO sold (paid, price) SELECT " + id(cents) + ", cents FROM seats WHERE id = 7")
				}
			})
			others := run.Actor("others", func(a *Actor) {
				a.SQL("UPDATE seats SET state = 'taken'" + bump + " WHERE id = 7 AND state = 'free'")
				a.SQL("UPDATE seats SET state = 'free', cents = 300" + bump + " WHERE id = 7") // returned, and dearer now
			})
			run.Schedule(slow.Until("UPDATE"), others.ToTheEnd(), slow.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "compare-and-set-aba",
		Title: text("Compare-and-set, and a value that came back (ABA)", "比较并设置与 ABA 问题"),
		Lesson: text(
			"The slow buyer saw a free seat for 100. It was taken, given back, and offered again for 300: free once more, so \"if it is still "+
				"free\" holds, and it is sold for 100. A version that every write raises never comes back.",
			"慢买家看到座位空闲、价格 100。其间座位被买走、退回、以 300 重新出售：状态又是“空闲”，于是“仍空闲则成交”成立，按 100 卖出。"+
				"每次写入都加一的版本号永远不会回到从前。"),
		Wild: text("Compare-and-set on a status; a lock whose token is the process's name, so that two of its goroutines look like one holder.",
			"对状态字段做比较并设置；以进程名为令牌的锁，同一进程的两个协程看起来像同一个持有者。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("compares the state", "比较状态"), play("state = 'free'", "")),
			right(text("compares a version", "比较版本号"), play("version = 1", ", version = version + 1")),
		},
	}
}
