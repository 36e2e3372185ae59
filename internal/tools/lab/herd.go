package lab

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/tools/lab/harness"
)

// herd shows that of all waiters that are woken, one can enter and the rest woke in vain.
func herd() Experiment {
	return Experiment{
		Name:  "herd",
		Title: text("The herd at the lock", "惊群：一把锁唤醒所有人"),
		Lesson: text(
			"Four wait for one. If the release wakes all of them, or each looks again and again, the server answers most of them that the lock "+
				"is taken: with N waiters the cost of one release grows with N, and of all releases with its square. If the waiters of a process "+
				"queue there and only the first asks, a release costs one question.",
			"四个人等一把锁。若释放时唤醒所有人，或每个人不停地查看，服务端大多只能回答“被占用”：N 个等待者时，一次释放的代价随 N 增长，全部释放随 N 的平方增长。"+
				"让同一进程的等待者在本地排队，只由队首去问，一次释放就只有一次询问。"),
		Wild: text("A spin with Sleep(50ms); a ZooKeeper watch on the parent node; a pub/sub channel that every waiter hears.",
			"Sleep(50ms) 自旋；在 ZooKeeper 父节点上设监听；所有等待者都订阅同一频道。"),
		Needs: []harness.Server{harness.Redis},
		Cases: []Case{
			wrong(text("a release wakes everybody", "释放时唤醒所有人"), herdBroadcast),
			wrong(text("everybody polls", "所有人轮询"), herdPolls),
			right(text("a local queue, one asks", "本地排队，一个人去问"), herdInLine),
		},
	}
}

var askedInVain = text("questions to the server in vain", "徒劳的询问次数")

// herdBroadcast waits for the message of a release, and then every waiter asks.
func herdBroadcast(run *Run) {
	var inVain, published atomic.Int64
	run.AtMost(askedInVain, 0, inVain.Load)
	all := crowd(run, func(a *Actor) {
		next := subscribe(run, "freed")
		var heard atomic.Int64
		nothingYet := func(context.Context) bool { return heard.Load() == published.Load() }
		for !tries(a, &inVain) {
			a.MustWaiting(harness.Redis, harness.Read, "waits for a message", nothingYet, func(s *Step) error {
				defer heard.Add(1)
				return next(s)
			})
		}
		work(a)
		del(a, "lock")
		a.Redis(harness.Release, "PUBLISH freed", func(s *Step, c *redis.Client) error {
			published.Add(1)
			return c.Publish(s.Ctx, run.Key("freed"), "").Err()
		})
	})
	run.Schedule(come(all)...)
}

// herdPolls asks, sleeps, and asks again.
func herdPolls(run *Run) {
	var inVain atomic.Int64
	run.AtMost(askedInVain, 0, inVain.Load)
	all := crowd(run, func(a *Actor) {
		for !tries(a, &inVain) {
			a.Must(harness.Process, harness.Work, "sleeps a little", func(*Step) error { return nil })
		}
		work(a)
		del(a, "lock")
	})
	turns := []harness.Turn{all[0].Until("goes in")}
	for range 2 { // how often each asks while the first works
		for _, a := range all[1:] {
			turns = append(turns, a.Steps(2))
		}
	}
	run.Schedule(turns...)
}

// herdInLine queues the waiters of a process inside it.
func herdInLine(run *Run) {
	process := run.NewLocker(redislock.New(run.Redis(), redislock.Options{}), lock.Options{Lease: long})
	run.AtMost(askedInVain, 0, process.Refused)
	all := crowd(run, func(a *Actor) {
		a.Use(process)
		a.Lock("lock")
		work(a)
		a.Unlock("lock")
	})
	run.Schedule(come(all)...)
}

// crowd returns five actors, of which the first will have the lock.
func crowd(run *Run, script func(a *Actor)) (all []*Actor) {
	for n := range 5 {
		all = append(all, run.Actor("worker "+strconv.Itoa(n+1), script))
	}
	return all
}

func work(a *Actor) {
	a.Enter()
	a.Leave()
}

// come returns the schedule in which the first enters and the others come to wait.
func come(all []*Actor) []harness.Turn {
	turns := []harness.Turn{all[0].Until("comes out")}
	for _, a := range all[1:] {
		turns = append(turns, a.ToTheEnd())
	}
	return turns
}

// tries asks for the lock once, and counts a refusal.
func tries(a *Actor, inVain *atomic.Int64) (ours bool) {
	a.Redis(harness.Acquire, "SET lock … NX PX "+ms(long), func(s *Step, c *redis.Client) (err error) {
		ours, err = trySet(s.Ctx, c, a.Run().Key("lock"), a.Name, long)
		if taken(s, "lock", ours); !ours && err == nil {
			inVain.Add(1)
		}
		return err
	})
	return ours
}

// subscribe returns a function that waits for the next message.
func subscribe(run *Run, channel string) func(s *Step) error {
	sub := run.Redis().Subscribe(run.Ctx(), run.Key(channel))
	_, err := sub.Receive(run.Ctx()) // the confirmation
	run.Must(err)
	run.OnStop(func() { _ = sub.Close() })
	return func(s *Step) error {
		_, err := sub.ReceiveMessage(s.Ctx)
		return err
	}
}
