package lab

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lab/bench"
	"seckill/internal/lock"
	"seckill/internal/lock/redislock"
)

// herd: of all who are woken one can go in, and the others came for nothing.
func herd() Experiment {
	return Experiment{
		Name:  "herd",
		Title: say("The herd at the lock", "惊群：一把锁唤醒所有人"),
		Lesson: say("Four wait for one. If the release wakes all of them, or each looks again and again, the server answers most of them that the lock "+
			"is taken: with N waiters the cost of one release grows with N, and of all releases with its square. If the waiters of a process "+
			"queue there and only the first asks, a release costs one question.",
			"四个人等一把锁。若释放时唤醒所有人，或每个人不停地查看，服务端大多只能回答“被占用”：N 个等待者时，一次释放的代价随 N 增长，全部释放随 N 的平方增长。"+
				"让同一进程的等待者在本地排队，只由队首去问，一次释放就只有一次询问。"),
		Wild: say("A spin with Sleep(50ms); a ZooKeeper watch on the parent node; a pub/sub channel that every waiter hears.",
			"Sleep(50ms) 自旋；在 ZooKeeper 父节点上设监听；所有等待者都订阅同一频道。"),
		Needs: []bench.Server{bench.Redis},
		Cases: []Case{
			wrong(say("a release wakes everybody", "释放时唤醒所有人"), herdBroadcast),
			wrong(say("everybody polls", "所有人轮询"), herdPolls),
			right(say("a local queue, one asks", "本地排队，一个人去问"), herdInLine),
		},
	}
}

var askedInVain = say("questions to the server in vain", "徒劳的询问次数")

// herdBroadcast: each waits for the message of a release, and then everybody asks.
func herdBroadcast(b *Bench) {
	var inVain, published atomic.Int64
	b.AtMost(askedInVain, 0, inVain.Load)
	all := crowd(b, func(a *Actor) {
		next := subscribe(b, "freed")
		var heard atomic.Int64
		nothingYet := func(context.Context) bool { return heard.Load() == published.Load() }
		for !tries(a, &inVain) {
			a.MustWaiting(bench.Redis, bench.Read, "waits for a message", nothingYet, func(s *Step) error {
				defer heard.Add(1)
				return next(s)
			})
		}
		work(a)
		del(a, "lock")
		a.Redis(bench.Free, "PUBLISH freed", func(s *Step, c *redis.Client) error {
			published.Add(1)
			return c.Publish(s.Ctx, b.Key("freed"), "").Err()
		})
	})
	b.Schedule(come(all)...)
}

// herdPolls: each asks, sleeps, and asks again.
func herdPolls(b *Bench) {
	var inVain atomic.Int64
	b.AtMost(askedInVain, 0, inVain.Load)
	all := crowd(b, func(a *Actor) {
		for !tries(a, &inVain) {
			a.Must(bench.Process, bench.Work, "sleeps a little", func(*Step) error { return nil })
		}
		work(a)
		del(a, "lock")
	})
	turns := []bench.Turn{all[0].Until("goes in")}
	for range 2 { // how often each looks while the first works
		for _, a := range all[1:] {
			turns = append(turns, a.Steps(2))
		}
	}
	b.Schedule(turns...)
}

// herdInLine: the waiters of a process queue in it.
func herdInLine(b *Bench) {
	process := b.NewLocker(redislock.New(b.Redis(), redislock.Options{}), lock.Options{Lease: long})
	b.AtMost(askedInVain, 0, process.InVain)
	all := crowd(b, func(a *Actor) {
		a.Uses(process)
		a.Lock("lock")
		work(a)
		a.Unlock("lock")
	})
	b.Schedule(come(all)...)
}

// crowd makes one who will have the lock first, and four more.
func crowd(b *Bench, script func(a *Actor)) (all []*Actor) {
	for n := range 5 {
		all = append(all, b.Actor("worker "+strconv.Itoa(n+1), script))
	}
	return all
}

func work(a *Actor) {
	a.Enters()
	a.Leaves()
}

// come is the schedule in which the first goes in and the others come to wait.
func come(all []*Actor) []bench.Turn {
	turns := []bench.Turn{all[0].Until("comes out")}
	for _, a := range all[1:] {
		turns = append(turns, a.ToTheEnd())
	}
	return turns
}

// tries asks for the lock once, and counts a refusal.
func tries(a *Actor, inVain *atomic.Int64) (ours bool) {
	a.Redis(bench.Take, "SET lock … NX PX "+ms(long), func(s *Step, c *redis.Client) (err error) {
		ours, err = trySet(s.Ctx, c, a.Bench().Key("lock"), a.Name, long)
		if taken(s, "lock", ours); !ours && err == nil {
			inVain.Add(1)
		}
		return err
	})
	return ours
}

// subscribe gives a function that waits for the next message.
func subscribe(b *Bench, channel string) func(s *Step) error {
	sub := b.Redis().Subscribe(b.Ctx(), b.Key(channel))
	_, err := sub.Receive(b.Ctx()) // the confirmation
	b.Must(err)
	b.OnStop(func() { _ = sub.Close() })
	return func(s *Step) error {
		_, err := sub.ReceiveMessage(s.Ctx)
		return err
	}
}
