package lab

import (
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lab/bench"
)

// lostReply: a client that asks again by itself does not know what it is asking for.
func lostReply() Experiment {
	const units = 10

	// decr is what most sales do, with the client's defaults: three retries.
	decr := func(a *Actor, wire *bench.Wire) {
		c := redis.NewClient(&redis.Options{Addr: wire.Addr(), MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond})
		a.Bench().OnStop(func() { _ = c.Close() })
		wire.LoseAnswers("decr", 4)
		_ = a.Do(bench.Redis, bench.Write, "DECR stock", func(s *Step) error {
			left, err := c.Decr(s.Ctx, a.Bench().Key("stock")).Result()
			s.Note("→ %d", left)
			if err != nil {
				s.Note("%d answers lost, and the client gave up", wire.Lost())
			}
			return err
		})
	}
	// reserve is this program's: the script knows the request, and the second asking
	// finds the hold of the first.
	reserve := func(a *Actor, wire *bench.Wire, sale sale) {
		wire.LoseAnswers("evalsha", 1)
		a.Must(bench.Redis, bench.Write, "RESERVE request r1 (a script, by request id)", func(s *Step) error {
			hold, err := sale.through(wire.Addr()).Reserve(s.Ctx, sale.claim(1, "r1"))
			s.Note("held for order %d; %d answer lost", hold.OrderID, wire.Lost())
			return err
		})
	}
	return Experiment{
		Name:  "lost-reply",
		Title: say("A lost reply, and the client's own retry", "应答丢失，客户端自动重试"),
		Lesson: say("The server has done it; only the answer is lost. go-redis asks again up to three times by default, so that one buy takes four "+
			"units, and the buyer gets none. Retries belong to the one who knows the request: off in the client, and on with a script that is "+
			"idempotent by request id.",
			"服务端已经执行，只是应答丢了。go-redis 默认最多重试三次，于是一次购买扣掉四件，买家却一件没得到。"+
				"重试应由知道请求编号的代码来做：关闭客户端重试，改用按请求编号幂等的脚本。"),
		Wild: say("MaxRetries is 3 unless one says −1. It does not show in tests with a cold connection pool: there the retry dies in the greeting.",
			"MaxRetries 默认是 3，除非设为 −1。冷连接池的测试里看不出来：重试会死在握手阶段。"),
		Needs: []bench.Server{bench.RealRedis},
		Cases: []Case{
			wrong(say("DECR with the client's defaults", "DECR 加客户端默认重试"), func(b *Bench) {
				b.Must(b.Redis().Set(b.Ctx(), b.Key("stock"), units, 0).Err())
				b.AtMost(unitsForOneBuy, 1, func() int64 {
					left, err := b.Redis().Get(b.Ctx(), b.Key("stock")).Int64()
					b.Must(err)
					return units - left
				})
				wire := b.Wire(b.RedisAddr())
				b.Actor("buyer", func(a *Actor) { decr(a, wire) })
				b.Schedule()
			}),
			right(say("a script that knows the request", "按请求编号幂等的脚本"), func(b *Bench) {
				sale := newSale(b, units+1, 1)
				b.Must(sale.buy(b.Ctx(), 2)) // so that the server knows the script
				b.AtMost(unitsForOneBuy, 1, func() int64 { return units - sale.left() })
				wire := b.Wire(b.RedisAddr())
				b.Actor("buyer", func(a *Actor) { reserve(a, wire, sale) })
				b.Schedule()
			}),
		},
	}
}

var unitsForOneBuy = say("units taken for one buy", "一次购买扣掉的库存")
