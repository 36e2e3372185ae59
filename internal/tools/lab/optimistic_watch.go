package lab

import (
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/lab/harness"
)

// optimisticWatch shows that read, compute, write back is right only if no other write came in
// between.
func optimisticWatch() Experiment {
	const units = 10

	getSet := func(a *Actor, sold func()) {
		var left int
		a.Redis(harness.Read, "GET stock", func(s *Step, c *redis.Client) (err error) {
			left, err = c.Get(s.Ctx, a.Run().Key("stock")).Int()
			s.Note("→ %d", left)
			return err
		})
		a.Redis(harness.Write, "SET stock "+strconv.Itoa(left-1), func(s *Step, c *redis.Client) error {
			sold()
			return c.Set(s.Ctx, a.Run().Key("stock"), left-1, 0).Err()
		})
	}
	watched := func(a *Actor, sold func()) {
		conn := a.Run().Redis().Conn()
		a.Run().OnStop(func() { _ = conn.Close() })
		for done := false; !done; {
			var left int
			a.Must(harness.Redis, harness.Read, "WATCH stock; GET stock", func(s *Step) (err error) {
				if err = conn.Do(s.Ctx, "WATCH", a.Run().Key("stock")).Err(); err == nil {
					left, err = conn.Get(s.Ctx, a.Run().Key("stock")).Int()
				}
				s.Note("→ %d", left)
				return err
			})
			a.Must(harness.Redis, harness.Write, "MULTI; SET stock "+strconv.Itoa(left-1)+"; EXEC", func(s *Step) error {
				_, err := conn.TxPipelined(s.Ctx, func(p redis.Pipeliner) error {
					return p.Set(s.Ctx, a.Run().Key("stock"), left-1, 0).Err()
				})
				if errors.Is(err, redis.TxFailedErr) {
					s.Note("nil: somebody wrote in between, again")
					return nil
				}
				if done = err == nil; done {
					sold()
				}
				return err
			})
		}
	}
	oneStep := func(a *Actor, sold func()) {
		a.Redis(harness.Write, "DECR stock", func(s *Step, c *redis.Client) error {
			left, err := c.Decr(s.Ctx, a.Run().Key("stock")).Result()
			s.Note("→ %d", left)
			sold()
			return err
		})
	}
	play := func(buy func(a *Actor, sold func())) func(run *Run) {
		return func(run *Run) {
			run.Must(run.Redis().Set(run.Ctx(), run.Key("stock"), units, 0).Err())
			var sold atomic.Int64
			run.AtMost(text("units sold that the stock does not know of", "已售出而库存不知道的份数"), 0, func() int64 {
				left, err := run.Redis().Get(run.Ctx(), run.Key("stock")).Int64()
				run.Must(err)
				return sold.Load() - (units - left)
			})
			script := func(a *Actor) { buy(a, func() { sold.Add(1) }) }
			one, two := run.Actor("user 42", script), run.Actor("user 43", script)
			run.Schedule(one.Until("SET", "MULTI", "DECR"), two.ToTheEnd(), one.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "optimistic-watch",
		Title: text("GET, subtract, SET", "GET、减一、SET"),
		Lesson: text(
			"Both read 10, both write 9: two units are sold and one is missing. WATCH makes the write fail if the key changed since it was read, "+
				"and the buyer begins again; that is right, and slow when everybody writes the same key. One command, or one script, that reads and "+
				"writes leaves no room for anybody.",
			"两个人都读到 10，都写回 9：卖了两份，只少了一份。WATCH 让读后被改过的键写入失败并重来，正确，但人人都写同一个键时很慢。"+
				"把读和写放进一条命令或一个脚本，就没有插入的空隙。"),
		Wild:  text("Every cache that is updated by hand; stock kept as JSON in one key.", "手工更新的缓存；把库存放在一个键的 JSON 里。"),
		Needs: []harness.Server{harness.Redis},
		Cases: []Case{
			wrong(text("GET, then SET", "先 GET 再 SET"), play(getSet)),
			right(text("WATCH, MULTI, EXEC", "WATCH、MULTI、EXEC"), play(watched)),
			right(text("one command", "一条命令"), play(oneStep)),
		},
	}
}
