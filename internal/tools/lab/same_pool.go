package lab

import (
	"context"
	"database/sql"

	"example.com/seckill/internal/tools/lab/harness"
)

// samePool shows that goroutines which hold a connection and wait for another of the same pool wait
// for each other.
func samePool() Experiment {
	buy := func(user string, locks, transactions *sql.DB) func(a *Actor) {
		return func(a *Actor) {
			lock := takes(a, "a connection for the lock", locks)
			a.Must(harness.Database, harness.Acquire, "GET_LOCK('user:"+user+"', 0)", func(s *Step) error {
				s.Open(harness.LeaseSpan, "user:"+user)
				return lock.QueryRowContext(s.Ctx, "SELECT GET_LOCK(?, 0)", a.Run().Key(user)).Scan(new(sql.NullInt64))
			})
			tx := takes(a, "a connection for the transaction", transactions)
			a.Must(harness.Database, harness.Write, "BEGIN … INSERT … COMMIT", func(s *Step) error {
				_, err := tx.ExecContext(s.Ctx, "INSERT INTO orders (user_id) VALUES (?)", user)
				return err
			})
			a.Must(harness.Database, harness.Release, "RELEASE_LOCK('user:"+user+"')", func(s *Step) error {
				s.End(harness.LeaseSpan, "")
				return lock.QueryRowContext(s.Ctx, "SELECT RELEASE_LOCK(?)", a.Run().Key(user)).Scan(new(sql.NullInt64))
			})
		}
	}
	play := func(two bool) func(run *Run) {
		return func(run *Run) {
			run.Tables("orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT)")
			run.NoDeadlock(text("buyers who wait for each other for ever", "永远互相等待的买家"))
			pool := run.Pool(run.DSN(), 2)
			locks := pool
			if two {
				locks = run.Pool(run.DSN(), 2)
			}
			one, other := run.Actor("user 42", buy("42", locks, pool)), run.Actor("user 43", buy("43", locks, pool))
			run.Schedule(one.Steps(2), other.Steps(2), one.ToTheEnd(), other.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "same-pool",
		Title: text("The lock's connection and the transaction's, from one pool", "锁和事务共用一个连接池"),
		Lesson: text(
			"GET_LOCK needs a connection for as long as it is held, and the transaction needs another. With a pool of two, two users who have "+
				"nothing to do with each other each hold one and wait for the other's: no lock conflicts, no deadlock that a server could see, and "+
				"everything stands still. Locks need a pool of their own.",
			"GET_LOCK 在持有期间独占一个连接，事务还要再拿一个。池里只有两个连接时，两个毫不相干的用户各占一个、各等一个：没有锁冲突，"+
				"也没有数据库看得见的死锁，一切就这样停住。锁必须有自己的连接池。"),
		Wild: text("It works in every test with a pool of a hundred, and stops at the hundredth buyer of the opening second.",
			"池有一百个连接时怎么测都正常，到开抢那一秒的第一百个买家就全部卡死。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("one pool of two", "共用一个连接池（两个连接）"), play(false)),
			right(text("a pool for locks, a pool for transactions", "锁与事务各用各的池"), play(true)),
		},
	}
}

// takes is the step that takes a connection from a pool, waiting for one.
func takes(a *Actor, what string, pool *sql.DB) (conn *sql.Conn) {
	empty := func(context.Context) bool {
		now := pool.Stats()
		return now.InUse == now.MaxOpenConnections
	}
	err := a.DoWaiting(harness.Process, harness.Work, what, empty, func(s *Step) (err error) {
		conn, err = pool.Conn(s.Ctx)
		return err
	})
	if err != nil {
		a.Exit()
	}
	a.Run().OnStop(func() { _ = conn.Close() })
	return conn
}
