package lab

import (
	"sync/atomic"

	"example.com/seckill/internal/tools/lab/harness"
)

// forUpdateMissingRow shows that a missing row cannot be locked: FOR UPDATE locks the gap, and so
// does every other transaction.
func forUpdateMissingRow() Experiment {
	play := func(lookFirst bool) func(run *Run) {
		return func(run *Run) {
			run.Tables("orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT, UNIQUE (user_id))")
			var died atomic.Int64
			run.AtMost(diedOfDeadlock, 0, died.Load)
			buy := func(user string) func(a *Actor) {
				return func(a *Actor) {
					a.SQL(repeatable)
					a.SQL("BEGIN")
					if lookFirst {
						a.Number("SELECT id FROM orders WHERE user_id = " + user + " FOR UPDATE")
					}
					if _, err := a.TrySQLThen("INSERT INTO orders (user_id) VALUES ("+user+")", countDeadlock(&died)); err != nil {
						a.SQL("ROLLBACK")
						return
					}
					a.SQL("COMMIT")
				}
			}
			one, two := run.Actor("user 42", buy("42")), run.Actor("user 43", buy("43"))
			run.Schedule(one.Until("INSERT"), two.Until("INSERT"), one.Until("COMMIT"), two.ToTheEnd(), one.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "for-update-missing-row",
		Title: text("FOR UPDATE of a row that is missing", "对不存在的行 FOR UPDATE"),
		Lesson: text(
			"\"Lock the user's order, and insert it if there is none\" locks the gap in which the row would be. Gap locks let each other in, "+
				"but no insert of anybody else: two different users wait for each other, and one dies. Insert first, and let the unique index "+
				"say that there is one.",
			"“先锁住用户的订单，没有就插入”锁住的是那一行应在的间隙。间隙锁彼此相容，却都挡住别人的插入：两个不同的用户互相等待，其一死于死锁。"+
				"应当直接插入，由唯一索引告诉你是否已存在。"),
		Wild:  text("find-or-create helpers with a locking option.", "带加锁选项的 find-or-create、FirstOrCreate。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("SELECT … FOR UPDATE, then INSERT", "先 SELECT … FOR UPDATE 再 INSERT"), play(true)),
			right(text("INSERT, with a unique index", "直接 INSERT，靠唯一索引"), play(false)),
		},
	}
}

var diedOfDeadlock = text("orders that died of a deadlock", "死于死锁的订单")
