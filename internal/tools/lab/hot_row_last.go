package lab

import "example.com/seckill/internal/tools/lab/harness"

// hotRowLast shows that the hot row is locked until the commit, so a transaction should take it
// last.
func hotRowLast() Experiment {
	const hot = "UPDATE coupons SET stock = stock - 1 WHERE id = 1 AND stock > 0"

	play := func(first bool) func(run *Run) {
		return func(run *Run) {
			run.Tables("coupons (id INT PRIMARY KEY, stock INT)", "orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT)")
			run.Exec("INSERT INTO coupons VALUES (1, 10)")
			run.InTheEnd(text("statements of one buyer that another waits for", "一个买家等待另一个买家的语句数"), 1, run.WaitedFor)
			buy := func(user string) func(a *Actor) {
				return func(a *Actor) {
					a.SQL(committed)
					a.SQL("BEGIN")
					if first {
						a.SQL(hot)
					}
					a.Number("SELECT COUNT(*) FROM orders WHERE user_id = " + user)
					a.SQL("INSERT INTO orders (user_id) VALUES (" + user + ")")
					if !first {
						a.SQL(hot)
					}
					a.SQL("COMMIT")
				}
			}
			one, two := run.Actor("user 42", buy("42")), run.Actor("user 43", buy("43"))
			run.Schedule(one.Until("UPDATE"), one.Steps(1), two.ToTheEnd(), one.ToTheEnd(), two.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "hot-row-last",
		Title: text("The hot row first, or last", "先更新热点行，还是最后更新"),
		Lesson: text(
			"All buyers of a coupon wait for its row, and it is held from the update to the commit. Updated first, it is held over every "+
				"other statement too, each a round trip; updated last, over the commit alone. Nothing is wrong with the data: only everybody waits "+
				"three times as long.",
			"一张优惠券的所有买家都在等同一行，而这一行从更新一直锁到提交。放在最前面更新，其余语句的往返时间都要别人等；放在最后，只需等提交。"+
				"数据没有错，只是所有人多等了两倍的时间。"),
		Wild: text("\"Take the stock, then write the order\" is the natural order to think in, and the slow one.",
			"“先扣库存再写订单”是最自然的思路，也是最慢的写法。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("hot row first", "热点行最先"), play(true)),
			right(text("hot row last", "热点行最后"), play(false)),
		},
	}
}
