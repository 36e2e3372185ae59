package lab

import "example.com/seckill/internal/tools/lab/harness"

// versionBesideLock shows that a pessimistic lock keeps out only those that ask for it.
func versionBesideLock() Experiment {
	// edit reads the whole row, changes a part of it, and writes the whole row back.
	edit := func(versioned bool) func(a *Actor) {
		return func(a *Actor) {
			a.Lock("coupon:1")
			for done := false; !done; {
				stock := a.Number("SELECT stock FROM coupons WHERE id = 1")
				version := int64(0)
				if versioned {
					version = a.Number("SELECT version FROM coupons WHERE id = 1")
				}
				update := "UPDATE coupons SET title = 'sale', stock = " + id(stock) + ", version = version + 1 WHERE id = 1"
				if versioned {
					update += " AND version = " + id(version)
				}
				done = a.SQL(update) == 1
			}
			a.Unlock("coupon:1")
		}
	}
	play := func(versioned bool) func(run *Run) {
		return func(run *Run) {
			run.Tables("coupons (id INT PRIMARY KEY, title VARCHAR(20), stock INT, version INT)")
			run.Exec("INSERT INTO coupons VALUES (1, 'coupon', 10, 1)")
			run.InTheEnd(text("units left after one of ten was sold", "十份卖出一份后的库存"), 9, run.Count("SELECT stock FROM coupons WHERE id = 1"))
			editor := run.Actor("editor", edit(versioned))
			batch := run.Actor("batch job", func(a *Actor) { // it is older than the lock
				a.SQL("UPDATE coupons SET stock = stock - 1, version = version + 1 WHERE id = 1")
			})
			run.Schedule(editor.Until("UPDATE"), batch.ToTheEnd(), editor.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "version-beside-lock",
		Title: text("A version column beside the lock", "锁之外再加版本号"),
		Lesson: text(
			"The editor holds the lock, reads the row and writes it back. A job that has never heard of the lock sells a unit in between, and "+
				"the editor's write takes the sale back. The lock orders those who ask for it; a version column, compared in the update, also "+
				"sees those who do not.",
			"编辑器持锁读出整行再写回。一个根本不知道这把锁的任务在其间卖出一份，编辑器的写回把这次销售抹掉了。"+
				"锁只能约束来申请锁的人；更新时比较版本号，连不申请锁的人也能发现。"),
		Wild:  text("An ORM's Save(), which writes every column; a script that somebody runs by hand.", "ORM 的 Save() 会写回所有列；有人手工跑的脚本。"),
		Needs: []harness.Server{harness.Redis, harness.Database},
		Cases: []Case{
			wrong(text("the lock alone", "只有锁"), play(false)),
			right(text("the lock and a version", "锁加版本号"), play(true)),
		},
	}
}
