package chaos

import (
	"context"
	"syscall"
	"time"

	"example.com/seckill/internal/platform/system"
	"example.com/seckill/internal/testing/faultnet"
)

// farAway is the round trip to a store that is at a distance, as between two zones of a cloud.
const farAway = 2 * time.Millisecond

// distances are stores that are farAway for a whole round, from the publication of the coupon to the last audit. By
// itself a distance may break nothing: no store may be called unavailable, and no epoch may end.
func distances() []Fault {
	all := []Fault{
		{Name: "distance:redis", farRedis: true, harm: onlyFar, whole: true},
		{Name: "distance:database", farDatabase: true, harm: onlyFar, whole: true},
		{Name: "distance:both", farRedis: true, farDatabase: true, harm: onlyFar, whole: true},
		{Name: "distance:both-instance-kill", farRedis: true, farDatabase: true, harm: signal(syscall.SIGKILL)},
		{Name: "distance:both-instance-stop", farRedis: true, farDatabase: true, harm: signal(system.SIGSTOP)},
	}
	for n := range all {
		all[n].kind = proxied
	}
	return all
}

// onlyFar waits until the first part of the crowd has its answers.
func onlyFar(ctx context.Context, r *round) (bool, error) {
	r.closed.within(0, 0, 1, 2, 3)
	<-r.done
	return true, ctx.Err()
}

// moveAway delays every reply of the stores that a fault has at a distance, until back is called.
func (b *environment) moveAway(f Fault) (back func()) {
	far := faultnet.DelayReplies(farAway, 0)
	back = func() {}
	if f.farRedis {
		back = b.toR.Inject(far)
	}
	if f.farDatabase {
		near := back
		end := b.toDB.Inject(far)
		back = func() { near(); end() }
	}
	return back
}
