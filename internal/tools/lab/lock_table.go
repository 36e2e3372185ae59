package lab

import (
	"errors"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/mysqllock"
	"example.com/seckill/internal/tools/lab/harness"
)

// lockTable shows that a lock row which only its owner deletes stays when the owner dies.
func lockTable() Experiment {
	const lease = 200 * time.Millisecond

	byRow := func(run *Run, shutOut *atomic.Int64) {
		run.Tables("locks (name VARCHAR(50) PRIMARY KEY, owner VARCHAR(20))")
		run.Actor("worker 1", func(a *Actor) {
			a.SQL("INSERT INTO locks VALUES ('user:42', 'worker 1')")
			a.Crash()
		})
		run.Actor("worker 2", func(a *Actor) {
			a.WorkFor("waits for twice a lease", 2*lease)
			if _, err := a.TrySQL("INSERT INTO locks VALUES ('user:42', 'worker 2')"); err != nil {
				shutOut.Add(1)
			}
		})
	}
	byLease := func(run *Run, shutOut *atomic.Int64) {
		run.Tables("lock_leases (name VARBINARY(255) PRIMARY KEY, token VARBINARY(64) NOT NULL, counter BIGINT UNSIGNED NOT NULL, " +
			"fence BIGINT UNSIGNED NOT NULL, expires_at DATETIME(6) NOT NULL)")
		pool, err := mysqllock.Open(run.DSN(), 4)
		run.Must(err)
		run.OnStop(func() { _ = pool.Close() })
		rows := mysqllock.NewLeaseRow(pool)
		take := func(a *Actor) error {
			return a.Do(harness.Database, harness.Acquire, "lease row user:42 for "+ms(lease)+" ms", func(s *Step) error {
				g, err := rows.Acquire(s.Ctx, "user:42", a.Name, lease)
				if err == nil {
					s.Note("ours, fence %d", g.Fence)
					s.Taken("user:42")
				}
				return err
			})
		}
		run.Actor("worker 1", func(a *Actor) {
			_ = take(a)
			a.Crash()
		})
		run.Actor("worker 2", func(a *Actor) {
			a.WorkFor("waits for twice a lease", 2*lease)
			if err := take(a); errors.Is(err, lock.ErrHeld) {
				shutOut.Add(1)
			}
		})
	}
	play := func(cast func(run *Run, shutOut *atomic.Int64)) func(run *Run) {
		return func(run *Run) {
			var shutOut atomic.Int64
			run.AtMost(text("workers shut out by a dead one", "被死者挡在门外的进程"), 0, shutOut.Load)
			cast(run, &shutOut)
			run.Schedule()
		}
	}
	return Experiment{
		Name:  "lock-table",
		Title: text("The lock table of a holder that crashed", "持有者崩溃后的锁表"),
		Lesson: text(
			"A unique key makes a fine lock: one insert wins. But the row knows no time: when its owner dies, nobody can ever insert again. A "+
				"lease row has an end by the server's clock and an owner, and is taken over in the same single statement once the end has passed.",
			"用唯一键做锁很好：只有一个插入能成功。但这一行不懂时间：持有者死了，谁也无法再插入。租约行带有按服务器时钟计算的到期时间和持有者，"+
				"到期后可用同一条语句接管。"),
		Wild: text("The lock tables of schedulers and of migration tools, and the runbook that says which row to delete by hand.",
			"调度器与数据库迁移工具的锁表，以及运维手册里“手工删除这一行”的步骤。"),
		Needs: []harness.Server{harness.Database},
		Cases: []Case{
			wrong(text("a row with a unique key", "唯一键的一行"), play(byRow)),
			right(text("a lease row", "租约行"), play(byLease)),
		},
	}
}
