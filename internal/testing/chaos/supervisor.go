package chaos

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/platform/system"
)

// supervisor looks after the fleet during a round: what was killed is started again, what
// was stopped goes on after longer than a lease, or when what is done meanwhile is done.
type supervisor struct {
	env   *environment
	rec   *record
	pause time.Duration
	mu    sync.Mutex // held while something is done to a stopped instance, which goes on after that

	incidents atomic.Int64 // kills and stops that were seen
	down      atomic.Int64 // instances that are down or stopped now
	rounds    sync.WaitGroup
	leave     context.CancelFunc
}

func (n *supervisor) begin(ctx context.Context) {
	ctx, n.leave = context.WithCancel(ctx)
	for _, i := range n.env.fleet {
		n.rounds.Go(func() {
			for sleep(ctx, 10*time.Millisecond) {
				n.check(ctx, i)
			}
		})
	}
}

// end returns when everything is well, and ends the watch.
func (n *supervisor) end() {
	n.leave()
	n.rounds.Wait()
}

func (n *supervisor) check(ctx context.Context, i *instance) {
	l := i.now()
	if i.url() == "" { // a cell has it in hand
		return
	}
	switch {
	case l.Ended():
		n.down.Add(1)
		defer n.down.Add(-1)
		n.incidents.Add(1)
		if !l.Killed() {
			n.rec.problem("%s ended by itself with %s: %s", i.name, l.State(), l.Tail())
		}
		n.restart(context.WithoutCancel(ctx), i)
	case l.Stopped():
		n.down.Add(1)
		defer n.down.Add(-1)
		n.incidents.Add(1)
		_ = sleep(context.WithoutCancel(ctx), n.pause)
		n.mu.Lock()
		l.Signal(system.SIGCONT)
		n.mu.Unlock()
		for l.Stopped() && !l.Ended() {
			_ = sleep(context.WithoutCancel(ctx), time.Millisecond)
		}
	}
}

// restart starts an instance until it serves: with its stores away it may refuse to.
func (n *supervisor) restart(ctx context.Context, i *instance) {
	var err error
	for range 20 {
		if err = i.start(ctx); err == nil {
			return
		}
		_ = sleep(ctx, 200*time.Millisecond)
	}
	n.rec.problem("a killed instance does not come back: %v", err)
}

// healthy reports whether every instance is there and runs.
func (n *supervisor) healthy() bool {
	if n.down.Load() > 0 {
		return false
	}
	for _, i := range n.env.fleet {
		if l := i.now(); l.Ended() || l.Stopped() {
			return false
		}
	}
	return true
}
