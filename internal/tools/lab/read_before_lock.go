package lab

import "example.com/seckill/internal/tools/lab/harness"

// readBeforeLock shows that under REPEATABLE READ the first read of a transaction fixes what it
// sees. If that read comes before the lock, the lock protects nothing.
func readBeforeLock() Experiment {
	const count = "SELECT COUNT(*) FROM orders WHERE user_id = 42"
	// buy takes its snapshot with the first read after BEGIN, here of an unrelated table.
	buy := func(session, count string, lockFirst bool) func(a *Actor) {
		return func(a *Actor) {
			a.SQL(session)
			if lockFirst {
				a.Lock("user:42")
			}
			a.SQL("BEGIN")
			a.Number("SELECT stock FROM coupons WHERE id = 1")
			if !lockFirst {
				a.Lock("user:42")
			}
			if a.Number(count) == 0 {
				a.SQL("INSERT INTO orders (user_id) VALUES (42)")
				if _, err := a.TrySQL("UPDATE coupons SET stock = stock - 1 WHERE id = 1"); err != nil {
					a.SQL("ROLLBACK")
					a.Unlock("user:42")
					return
				}
			}
			a.SQL("COMMIT")
			a.Unlock("user:42")
		}
	}
	play := func(session, count string, lockFirst bool) func(run *Run) {
		return func(run *Run) {
			run.Tables("orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT, KEY (user_id))", "coupons (id INT PRIMARY KEY, stock INT)")
			run.Exec("INSERT INTO coupons VALUES (1, 10)")
			if session == snapshot && !hasSnapshotIsolation(run) {
				run.Skip(text("this server has no innodb_snapshot_isolation", "此服务器没有 innodb_snapshot_isolation"))
			}
			run.AtMost(ordersOfOneUser, 1, run.Count("SELECT COUNT(*) FROM orders WHERE user_id = 42"))
			tap1 := run.Actor("first tap", buy(session, count, lockFirst))
			tap2 := run.Actor("second tap", buy(session, count, lockFirst))
			run.Schedule(tap1.Until("SELECT COUNT"), tap2.Until("SELECT COUNT"), tap1.ToTheEnd(), tap2.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "read-before-lock",
		Title: text("A read before the lock, under REPEATABLE READ", "加锁之前先读了一次（可重复读）"),
		Lesson: text("MySQL's default isolation takes its snapshot at the first read. The second tap reads anything at all, waits for the lock, "+
			"gets it after the first one's commit, and then counts in the snapshot of before: no order. Any of four things removes it: lock "+
			"before BEGIN; READ COMMITTED; a locking read, which sees the latest; or snapshot isolation, where the server refuses to write "+
			"over what the snapshot does not know (error 1020).",
			"MySQL 默认隔离级别在第一次读时建立快照。第二个请求随便读了点什么，然后等锁；拿到锁时第一个请求已经提交，但它统计用的仍是旧快照：没有订单。"+
				"四种办法任选其一：先加锁再 BEGIN；使用读已提交；使用加锁读（读到最新）；或使用快照隔离，由数据库拒绝覆盖快照之外的修改（错误 1020）。"),
		Wild: text("A web framework that opens the transaction for the request, reads the session or the user, and calls a service that locks. "+
			"With it 400 of 400 buyers of a 50-unit sale got one.",
			"框架为每个请求开启事务，先读会话或用户，再调用加锁的服务：一场 50 份的活动，400 个人全都买到了。"),
		Needs: []harness.Server{harness.Redis, harness.Database},
		Cases: []Case{
			wrong(text("begin, read, lock (REPEATABLE READ)", "开启事务、读、加锁（可重复读）"), play(repeatable, count, false)),
			right(text("lock, then begin", "先加锁，再开启事务"), play(repeatable, count, true)),
			right(text("READ COMMITTED", "读已提交"), play(committed, count, false)),
			right(text("a locking read", "加锁读"), play(repeatable, count+" FOR UPDATE", false)),
			right(text("snapshot isolation: error 1020", "快照隔离：错误 1020"), play(snapshot, count, false)),
		},
	}
}

// hasSnapshotIsolation reports whether the server is a MariaDB that has it.
func hasSnapshotIsolation(run *Run) bool {
	rows, err := run.DB().QueryContext(run.Ctx(), "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
	run.Must(err)
	defer func() { _ = rows.Close() }()
	known := rows.Next()
	run.Must(rows.Err())
	return known
}
