package lab

import (
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/tools/lab/harness"
)

// lostReply shows that a client that retries by itself does not know whether it asked before.
func lostReply() Experiment {
	const units = 10

	// decr decrements a counter as most sales do, with the client's default of three retries.
	decr := func(a *Actor, wire *harness.Proxy) {
		c := redis.NewClient(&redis.Options{Addr: wire.Addr(), MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond})
		a.Run().OnStop(func() { _ = c.Close() })
		wire.LoseReplies("decr", 4)
		_ = a.Do(harness.Redis, harness.Write, "DECR stock", func(s *Step) error {
			left, err := c.Decr(s.Ctx, a.Run().Key("stock")).Result()
			s.Note("→ %d", left)
			if err != nil {
				s.Note("%d answers lost, and the client gave up", wire.Lost())
			}
			return err
		})
	}
	// reserve is this program's way: the script recognises the request, and a repetition finds the
	// hold of the first.
	reserve := func(a *Actor, wire *harness.Proxy, sale testSale) {
		wire.LoseReplies("evalsha", 1)
		a.Must(harness.Redis, harness.Write, "RESERVE request r1 (a script, by request id)", func(s *Step) error {
			got := sale.through(wire.Addr()).Reserve(s.Ctx, []order.ReserveRequest{sale.claim(1, "r1")})[0]
			s.Note("held for order %d; %d answer lost", got.Hold.OrderID, wire.Lost())
			return got.Err
		})
	}
	return Experiment{
		Name:  "lost-reply",
		Title: text("A lost reply, and the client's own retry", "应答丢失，客户端自动重试"),
		Lesson: text(
			"The server has done it; only the answer is lost. go-redis asks again up to three times by default, so that one buy takes four "+
				"units, and the buyer gets none. Retries belong to the one who knows the request: off in the client, and on with a script that is "+
				"idempotent by request id.",
			"服务端已经执行，只是应答丢了。go-redis 默认最多重试三次，于是一次购买扣掉四份，买家却一份没得到。"+
				"重试应由知道请求编号的代码来做：关闭客户端重试，改用按请求编号幂等的脚本。"),
		Wild: text(
			"MaxRetries is 3 unless one says −1. It does not show in tests with a cold connection pool: there the retry dies in the greeting.",
			"MaxRetries 默认是 3，除非设为 −1。冷连接池的测试里看不出来：重试会死在握手阶段。"),
		Needs: []harness.Server{harness.RealRedis},
		Cases: []Case{
			wrong(text("DECR with the client's defaults", "DECR 加客户端默认重试"), func(run *Run) {
				run.Must(run.Redis().Set(run.Ctx(), run.Key("stock"), units, 0).Err())
				run.AtMost(unitsForOneBuy, 1, func() int64 {
					left, err := run.Redis().Get(run.Ctx(), run.Key("stock")).Int64()
					run.Must(err)
					return units - left
				})
				wire := run.Proxy(run.RedisAddr())
				run.Actor("buyer", func(a *Actor) { decr(a, wire) })
				run.Schedule()
			}),
			right(text("a script that knows the request", "按请求编号幂等的脚本"), func(run *Run) {
				sale := newSale(run, units+1, 1)
				run.Must(sale.buy(run.Ctx(), 2)) // so that the server has the script
				run.AtMost(unitsForOneBuy, 1, func() int64 { return units - sale.left() })
				wire := run.Proxy(run.RedisAddr())
				run.Actor("buyer", func(a *Actor) { reserve(a, wire, sale) })
				run.Schedule()
			}),
		},
	}
}

var unitsForOneBuy = text("units taken for one buy", "一次购买扣掉的库存")
