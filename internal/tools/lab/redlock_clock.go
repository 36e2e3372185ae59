package lab

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redlock"
	"example.com/seckill/internal/tools/lab/harness"
)

type grant = lock.Grant

// redlockClock shows that a majority is worth as much as the clocks of its members.
func redlockClock() Experiment {
	play := func(fenced bool) func(run *Run) {
		return func(run *Run) {
			run.Tables("prices (id INT PRIMARY KEY, cents INT, fence BIGINT UNSIGNED)",
				"counters (name VARCHAR(80) PRIMARY KEY, fence BIGINT UNSIGNED)")
			run.Exec("INSERT INTO prices VALUES (1, 100, 0)")
			var decided atomic.Bool
			overwritten := run.Count("SELECT COUNT(*) FROM prices WHERE cents <> 80")
			run.AtMost(text("decisions of the later holder that the earlier one has overwritten", "被先前持有者覆盖的后来者的决定"), 0, func() int64 {
				if !decided.Load() {
					return 0
				}
				return overwritten()
			})
			nodes := []*node{newNode(run), newNode(run), newNode(run)}
			backend := majorityOf(run, nodes, fenced)
			update := func(a *Actor, cents int, fence uint64) {
				if fenced {
					a.SQL(fmt.Sprintf("UPDATE prices SET cents = %d, fence = %d WHERE id = 1 AND fence <= %d", cents, fence, fence))
					return
				}
				a.SQL(fmt.Sprintf("UPDATE prices SET cents = %d WHERE id = 1", cents))
			}
			work := func(cents int, then func()) func(a *Actor) {
				return func(a *Actor) {
					var g grant
					a.Must(harness.Redis, harness.Acquire, "REDLOCK price:1 on 3 nodes", func(s *Step) (err error) {
						g, err = backend.Acquire(s.Ctx, a.Run().Key("price:1"), a.Name, long)
						s.Taken("price:1")
						s.Note("a majority; fence %d", g.Fence)
						return err
					})
					update(a, cents, g.Fence)
					then()
				}
			}
			first := run.Actor("worker 1", work(90, func() {}))
			second := run.Actor("worker 2", work(80, func() { decided.Store(true) }))
			world := run.Actor("world", func(a *Actor) {
				happens(a, "node 3 goes away", func(*Step) error { return nodes[2].server.Kill() })
				happens(a, "node 2's clock jumps ahead: its lease is over", func(s *Step) error { return nodes[1].leap(s.Ctx) })
				happens(a, "node 3 comes back, empty", func(s *Step) error { return nodes[2].server.Restart(s.Ctx) })
			})
			run.Schedule(world.Steps(1), first.Until("UPDATE"), world.ToTheEnd(), second.ToTheEnd(), first.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "redlock-clock",
		Title: text("RedLock and a clock that jumps", "RedLock 与时钟跳变"),
		Lesson: text(
			"Worker 1 has nodes 1 and 2. Node 2's clock jumps ahead and its lease is over (which is all that a jump does, and is played so "+
				"here); node 3 comes back without it. Worker 2 has nodes 2 and 3: two majorities at once. More nodes do not help; a fence that "+
				"is kept where the data is does.",
			"进程 1 拿到节点 1 和 2。节点 2 的时钟向前跳，租约立刻到期（跳变的效果仅此而已，这里即如此模拟）；节点 3 恢复后什么也不记得。"+
				"进程 2 拿到节点 2 和 3：两个多数派同时存在。加节点没有用，与数据放在一起的 fencing token 才有用。"),
		Wild: text("A clock set by hand or stepped by NTP; a node restarted without appendfsync always. The debate of Kleppmann and antirez.",
			"手工校时、NTP 步进、未开 appendfsync always 的节点重启；Kleppmann 与 antirez 的那场争论。"),
		Needs: []harness.Server{harness.RealRedis, harness.OwnRedis, harness.Database},
		Cases: []Case{
			wrong(text("the majority is trusted", "相信多数派"), play(false)),
			right(text("a fence from the database", "fencing token 来自数据库"), play(true)),
		},
	}
}

// node is one independent master.
type node struct {
	server interface {
		Kill() error
		Restart(ctx context.Context) error
	}
	client *redis.Client
}

func newNode(run *Run) *node {
	r := run.PrivateRedis()
	return &node{r, run.Client(r.Addr())}
}

// leap ends every lease of the node, as its clock does when it jumps past their ends.
func (n *node) leap(ctx context.Context) error {
	keys, err := n.client.Keys(ctx, "*").Result()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if n.client.TTL(ctx, key).Val() > 0 {
			err = n.client.ExpireAt(ctx, key, time.Unix(1, 0)).Err()
		}
	}
	return err
}

func majorityOf(run *Run, nodes []*node, fenced bool) *redlock.Backend {
	var clients []*redis.Client
	for _, n := range nodes {
		clients = append(clients, n.client)
	}
	o := redlock.Options{NodeTimeout: 5 * time.Second}
	if fenced {
		o.Fencer = counters{run.DB()}
	}
	backend, err := redlock.New(clients, o)
	run.Must(err)
	run.OnStop(backend.Close)
	return backend
}

// counters keeps fences beside the data.
type counters struct{ db *sql.DB }

// NextFence increments the counter in one statement.
func (c counters) NextFence(ctx context.Context, key string) (uint64, error) {
	result, err := c.db.ExecContext(ctx, "INSERT INTO counters VALUES (?, LAST_INSERT_ID(1)) "+
		"ON DUPLICATE KEY UPDATE fence = LAST_INSERT_ID(fence + 1)", key)
	if err != nil {
		return 0, err
	}
	n, err := result.LastInsertId()
	return uint64(n), err //nolint:gosec // it counts from 1
}

// AdvanceFence raises the counter.
func (c counters) AdvanceFence(ctx context.Context, key string, above uint64) error {
	_, err := c.db.ExecContext(ctx, "UPDATE counters SET fence = GREATEST(fence, ?) WHERE name = ?", above, key)
	return err
}
