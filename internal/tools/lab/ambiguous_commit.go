package lab

import (
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// ambiguousCommit shows that a commit that fails may have happened, and that the error does not
// tell.
func ambiguousCommit() Experiment {
	// buy makes one attempt at a request on a fresh connection; the reply to its commit may be
	// lost.
	buy := func(a *Actor, insert string) error {
		a.On(a.Run().Pool(a.Run().ProxiedDSN(), 1))
		a.SQL("BEGIN")
		if _, err := a.TrySQL(insert); err != nil {
			return err
		}
		_, err := a.TrySQL("COMMIT")
		return err
	}
	blindly := func(a *Actor) {
		const insert = "INSERT INTO orders (user_id) VALUES (42)"
		a.Run().Network().LoseReplies("COMMIT", 1)
		if buy(a, insert) != nil {
			_ = buy(a, insert)
		}
	}
	byRequest := func(a *Actor) {
		a.Run().Network().LoseReplies("COMMIT", 1)
		if buy(a, "INSERT INTO orders (user_id, request) VALUES (42, 'r1')") == nil {
			return
		}
		// A void order under the same request id proves that the first attempt never commits; a
		// duplicate key proves that it did.
		err := buy(a, "INSERT INTO orders (user_id, request, void) VALUES (42, 'r1', 1)")
		if err != nil && strings.Contains(err.Error(), "1062") {
			a.Number("SELECT id FROM orders WHERE request = 'r1'")
		}
	}
	play := func(script func(a *Actor)) func(run *Run) {
		return func(run *Run) {
			run.Tables("orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT, request VARCHAR(20) UNIQUE, void INT DEFAULT 0)")
			run.AtMost(text("orders of one request", "同一请求产生的订单数"), 1, run.Count("SELECT COUNT(*) FROM orders WHERE void = 0"))
			run.Network()
			run.Actor("buyer", script)
			run.Schedule()
		}
	}
	return Experiment{
		Name:  "ambiguous-commit",
		Title: text("A commit whose answer was lost, tried again blindly", "提交的应答丢失后盲目重试"),
		Lesson: text(
			"The commit is done and its answer lost: the driver reports the same error as if it had not happened. Trying again buys twice; "+
				"giving the unit back sells it twice. The way out is to ask the database something that only one of the two can answer: insert a "+
				"void order under the same request id. A duplicate means that it was committed; a success means that it never can be.",
			"提交成功而应答丢失，驱动返回的错误与未提交完全一样。重试就会买两次，退库存就会卖两次。出路是问数据库一个只有一种答案的问题："+
				"用同一请求编号插入一张作废单。重复说明已提交，成功说明它再也不可能提交。"),
		Wild: text("Retry helpers that treat every error alike, and every rollback of stock in a catch block around the commit.",
			"对所有错误一视同仁的重试工具；以及在 catch 里对提交失败做的“回滚库存”。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("the same transaction again", "原样再来一次"), play(blindly)),
			right(text("a void order under the same request id", "用同一请求编号插入作废单"), play(byRequest)),
		},
	}
}
