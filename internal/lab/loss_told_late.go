package lab

import (
	"context"
	"time"

	"seckill/internal/lab/bench"
	"seckill/internal/lock"
	"seckill/internal/lock/redislock"
)

// lossToldLate: silence is an answer too, if one has a clock.
func lossToldLate() Experiment {
	const lease = 600 * time.Millisecond

	// asks learns of a loss from the answer to its renewal, whenever that comes.
	asks := func(wire *bench.Wire) func(a *Actor) {
		return func(a *Actor) {
			setNXPX(a, "lock", "a", lease)
			a.Enters()
			falls(a, wire)
			c := a.Bench().Client(wire.Addr())
			unanswered := func(context.Context) bool { return wire.Silent() }
			_ = a.DoWaiting(bench.Redis, bench.Read, "GET lock, to renew it", unanswered, func(s *Step) error {
				token, err := c.Get(context.WithoutCancel(s.Ctx), a.Bench().Key("lock")).Result()
				s.Note("→ %q: not ours", token)
				return err
			})
			a.Leaves()
		}
	}
	// reckons knows when the lease ends unless it hears otherwise.
	reckons := func(wire *bench.Wire) func(a *Actor) {
		return func(a *Actor) {
			c := a.Bench().Client(wire.Addr())
			a.Uses(a.Bench().NewLocker(redislock.New(c, redislock.Options{}), lock.Options{Lease: lease}))
			a.Lock("lock")
			a.Enters()
			falls(a, wire)
			a.Must(bench.Process, bench.Work, "works until the lease's context ends", func(s *Step) error {
				<-a.Lease("lock").Context().Done()
				s.Note("lost; another gets the key in %v", a.Bench().Left("lock").Round(time.Millisecond))
				return nil
			})
			a.Leaves()
		}
	}
	play := func(first func(wire *bench.Wire) func(a *Actor), locks func(a *Actor)) func(b *Bench) {
		return func(b *Bench) {
			b.OneInside()
			wire := b.Wire(b.RedisAddr())
			holder := b.Actor("worker 1", first(wire))
			second := b.Actor("worker 2", func(a *Actor) {
				a.WaitsAtMost("lock", long)
				locks(a)
				a.Enters()
				a.Leaves()
			})
			network := b.Actor("network", func(a *Actor) {
				_ = a.Do(bench.Process, bench.Trouble, "the network is back", func(*Step) error { wire.Speak(); return nil })
			})
			b.Schedule(holder.ToTheEnd(), second.Until("comes out"), network.ToTheEnd(), holder.ToTheEnd())
		}
	}
	return Experiment{
		Name:  "loss-told-late",
		Title: say("The holder hears of the loss too late", "持有者太晚得知锁已丢失"),
		Lesson: say("The network falls silent: nothing is refused, nothing answers. A holder that waits for the answer to its renewal goes on working "+
			"long after another was let in. One that reckons from the start of its last confirmed renewal, less a margin, knows by itself when "+
			"it must stop, and stops before anybody else can start.",
			"网络静默：不拒绝也不应答。等待续期应答的持有者，在别人进入之后仍在工作。而从最后一次成功续期的起点开始计时、并留出余量的持有者，"+
				"自己就知道何时必须停下，并且赶在别人进入之前停下。"),
		Wild: say("Consul's and several Redis clients' lock loss channels fire about a second after somebody else may have acquired.",
			"Consul 与若干 Redis 客户端的“锁丢失”通知，要在别人可能已拿到锁约一秒之后才触发。"),
		Needs: []bench.Server{bench.RealRedis},
		Cases: []Case{
			wrong(say("waits for the renewal's answer", "等待续期的应答"), play(asks, func(a *Actor) { setNXPX(a, "lock", "b", long) })),
			right(say("a local clock with a margin", "本地计时并留余量"), play(reckons, func(a *Actor) { acquire(a, "lock", long) })),
		},
	}
}

func falls(a *Actor, wire *bench.Wire) {
	a.Must(bench.Process, bench.Trouble, "the network falls silent", func(*Step) error { wire.Silence(); return nil })
}
