package lab

import (
	"context"
	"time"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/tools/lab/harness"
)

// lossToldLate shows that a holder with a clock needs no answer to know that its lease has ended.
func lossToldLate() Experiment {
	const lease = 600 * time.Millisecond

	// asks learns of a loss from the reply to its renewal, whenever that arrives.
	asks := func(wire *harness.Proxy) func(a *Actor) {
		return func(a *Actor) {
			setNXPX(a, "lock", "a", lease)
			a.Enter()
			falls(a, wire)
			c := a.Run().Client(wire.Addr())
			unanswered := func(context.Context) bool { return wire.Stalled() }
			_ = a.DoWaiting(harness.Redis, harness.Read, "GET lock, to renew it", unanswered, func(s *Step) error {
				token, err := c.Get(context.WithoutCancel(s.Ctx), a.Run().Key("lock")).Result()
				s.Note("→ %q: not ours", token)
				return err
			})
			a.Leave()
		}
	}
	// reckons knows when the lease ends unless a renewal succeeds.
	reckons := func(wire *harness.Proxy) func(a *Actor) {
		return func(a *Actor) {
			c := a.Run().Client(wire.Addr())
			a.Use(a.Run().NewLocker(redislock.New(c, redislock.Options{}), lock.Options{Lease: lease}))
			a.Lock("lock")
			a.Enter()
			falls(a, wire)
			a.Must(harness.Process, harness.Work, "works until the lease's context ends", func(s *Step) error {
				<-a.Lease("lock").Context().Done()
				s.Note("lost; another gets the key in %v", a.Run().TTL("lock").Round(time.Millisecond))
				return nil
			})
			a.Leave()
		}
	}
	play := func(first func(wire *harness.Proxy) func(a *Actor), locks func(a *Actor)) func(run *Run) {
		return func(run *Run) {
			run.OneInside()
			wire := run.Proxy(run.RedisAddr())
			holder := run.Actor("worker 1", first(wire))
			second := run.Actor("worker 2", func(a *Actor) {
				a.WaitAtMost("lock", long)
				locks(a)
				a.Enter()
				a.Leave()
			})
			network := run.Actor("network", func(a *Actor) {
				_ = a.Do(harness.Process, harness.Fault, "the network is back", func(*Step) error { wire.Resume(); return nil })
			})
			run.Schedule(holder.ToTheEnd(), second.Until("comes out"), network.ToTheEnd(), holder.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "loss-told-late",
		Title: text("The holder hears of the loss too late", "持有者太晚得知锁已丢失"),
		Lesson: text(
			"The network falls silent: nothing is refused, nothing answers. A holder that waits for the answer to its renewal goes on working "+
				"long after another was let in. One that reckons from the start of its last confirmed renewal, less a margin, knows by itself when "+
				"it must stop, and stops before anybody else can start.",
			"网络静默：不拒绝也不应答。等待续期应答的持有者，在别人进入之后仍在工作。而从最后一次成功续期的起点开始计时、并留出余量的持有者，"+
				"自己就知道何时必须停下，并且赶在别人进入之前停下。"),
		Wild: text("Consul's and several Redis clients' lock loss channels fire about a second after somebody else may have acquired.",
			"Consul 与若干 Redis 客户端的“锁丢失”通知，要在别人可能已拿到锁约一秒之后才触发。"),
		Needs: []harness.Server{harness.RealRedis},
		Cases: []Case{
			wrong(text("waits for the renewal's answer", "等待续期的应答"), play(asks, func(a *Actor) { setNXPX(a, "lock", "b", long) })),
			right(text("a local clock with a margin", "本地计时并留余量"), play(reckons, func(a *Actor) { acquire(a, "lock", long) })),
		},
	}
}

func falls(a *Actor, wire *harness.Proxy) {
	a.Must(harness.Process, harness.Fault, "the network falls silent", func(*Step) error { wire.Stall(); return nil })
}
