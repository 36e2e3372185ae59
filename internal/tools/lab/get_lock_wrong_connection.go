package lab

import (
	"database/sql"

	"example.com/seckill/internal/tools/lab/harness"
)

// getLockWrongConnection shows that GET_LOCK belongs to a connection, which a pool lends to any
// caller.
func getLockWrongConnection() Experiment {
	type asker interface {
		number(s *Step, query string) (int64, error)
	}
	work := func(connect func(a *Actor) asker) func(a *Actor) {
		return func(a *Actor) {
			on := connect(a)
			var got int64
			name := "'" + a.Run().Key("l") + "'"
			a.MustSQL(harness.Acquire, "SELECT GET_LOCK('user:42', 10)", func(s *Step) (err error) {
				got, err = on.number(s, "SELECT GET_LOCK("+name+", 10)")
				s.Note("→ %d", got)
				s.Open(harness.LeaseSpan, "user:42")
				return err
			})
			if got != 1 {
				return
			}
			a.Enter()
			a.Leave()
			a.MustSQL(harness.Release, "SELECT RELEASE_LOCK('user:42')", func(s *Step) error {
				n, err := on.number(s, "SELECT RELEASE_LOCK("+name+")")
				s.Note("→ %d", n)
				s.End(harness.LeaseSpan, "")
				return err
			})
		}
	}
	play := func(pinned bool) func(run *Run) {
		return func(run *Run) {
			run.OneInside()
			pool := run.Pool(run.DSN(), 8)
			connect := func(a *Actor) asker {
				if pinned {
					a.On(pool)
					return onConnection{a}
				}
				return onPool{pool}
			}
			one, two := run.Actor("first tap", work(connect)), run.Actor("second tap", work(connect))
			run.Schedule(one.Until("comes out"), two.Until("comes out"), one.ToTheEnd(), two.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "get-lock-wrong-connection",
		Title: text("GET_LOCK through a connection pool", "通过连接池使用 GET_LOCK"),
		Lesson: text(
			"The lock belongs to the connection that asked, and may be taken again by it. Through a pool, the second tap is lent the very "+
				"connection of the first and gets the lock too. A release may as well go to a connection that does not have it, and then the lock "+
				"stays until that connection is closed. Pin one connection from the lock to the release.",
			"锁属于发出请求的那个连接，而同一连接可以重入。通过连接池，第二个请求恰好借到第一个请求的连接，于是也拿到了锁。"+
				"释放也可能发到另一个连接上，锁就一直留到连接关闭。从加锁到释放必须固定使用同一个连接。"),
		Wild: text("db.Exec(\"SELECT GET_LOCK(…)\") with database/sql, or an ORM's session, which are pools both.",
			"用 database/sql 的 db.Exec 或 ORM 的会话直接执行 GET_LOCK：它们都是连接池。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("any connection of the pool", "池里的任意连接"), play(false)),
			right(text("one pinned connection", "固定的一个连接"), play(true)),
		},
	}
}

// onPool asks through whichever connection the pool lends.
type onPool struct{ pool *sql.DB }

func (p onPool) number(s *Step, query string) (n int64, err error) {
	err = p.pool.QueryRowContext(s.Ctx, query).Scan(&n)
	return n, err
}

// onConnection asks through the actor's own connection.
type onConnection struct{ a *Actor }

func (c onConnection) number(s *Step, query string) (n int64, err error) {
	err = c.a.Conn().QueryRowContext(s.Ctx, query).Scan(&n)
	return n, err
}
