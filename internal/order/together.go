package order

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"example.com/seckill/internal/platform/gather"
)

// batchesAtOnce is how many batches are in progress at most: one is reserved and locked
// while another is committed.
const batchesAtOnce = 2

// newGatherer returns what brings attempts together: those that arrive while batches are in progress are the
// next. The second batch begins when the attempts that wait are at least as numerous as those in
// progress. Every batch costs as much as several orders, so two small batches would take the processors from one large
// batch.
func (s *Service) newGatherer(size int, steps func(context.Context, attempts)) *gather.Gatherer[*Attempt] {
	return gather.New(gather.Options[*Attempt]{
		Size: size, AtOnce: batchesAtOnce,
		Another: func(waiting, inProgress int, _ time.Duration) bool { return waiting >= inProgress },
		Drop:    s.drop,
		Serve: func(batch []*Attempt) {
			all := attempts(batch).only(s.hasTime)
			if len(all) == 0 {
				return
			}
			ctx, cancel := all.context()
			defer cancel()
			defer s.leaveAfterPanic(all)
			steps(ctx, all)
		},
	})
}

// together brings an attempt through the steps with others. An attempt that cannot go with them goes on by itself, and
// so does one that has little time left, which would end the others' time.
//
// An attempt whose home shard is empty takes a unit by itself and then joins the others again, with its hold: near the
// end of a stock most attempts borrow, and a transaction for each of them would take much longer.
func (s *Service) together(a *Attempt, steps func(context.Context, attempts)) {
	if s.join(a) {
		return
	}
	ctx, cancel := attempts{a}.context()
	defer cancel()
	if s.batches != nil && s.queue == nil && !a.held() {
		if s.reserve(ctx, attempts{a}); a.Err != nil || s.join(a) {
			return
		}
	}
	steps(ctx, attempts{a})
}

// join brings an attempt into a batch, and reports whether the attempt is through. Otherwise it has to go on by itself.
// The batch has a copy of the attempt, because a batch that panics looks at all its members, and this one may be in
// the next batch by then.
func (s *Service) join(a *Attempt) (through bool) {
	if s.batches == nil || s.hasLittleTime(a.Context) || s.committer.Held(a.Sale.ID) {
		return false
	}
	left, member := make(chan struct{}), *a
	member.done = left
	s.batches.Add(&member)
	<-left // in a batch the steps end with its time, which is not later than the attempt's
	if *a = member; !errors.Is(a.Err, ErrFallback) {
		return true
	}
	a.Err = nil
	return false
}

// hasLittleTime reports whether an attempt with this context has to go by itself.
func (s *Service) hasLittleTime(ctx context.Context) bool {
	until, bounded := ctx.Deadline()
	return bounded && time.Until(until) < s.cleanupIn/2
}

// drop takes an attempt whose time is over out of the queue. One with little time goes on waiting: when no batch
// begins, the stores are slow, and many single attempts would make them slower.
func (s *Service) drop(a *Attempt) bool {
	err := a.Context.Err()
	if err != nil {
		a.Err = fmt.Errorf("%w: waiting for a batch: %w", ErrUnavailable, err)
		a.leave()
	}
	return err != nil
}

// hasTime reports whether an attempt has enough time for the batch that begins. Otherwise it leaves, to go on by
// itself.
func (s *Service) hasTime(a *Attempt) bool {
	little := s.hasLittleTime(a.Context)
	if little {
		a.leaveOthers(nil)
		a.leave()
	}
	return !little
}

// leaveAfterPanic is deferred by a batch. A panic must not end the instance, and then the next instance to which
// the client repeats the request. The program does not know which attempt panicked. Attempts without a hold go on
// by themselves: the request that made its batch panic then panics in its own goroutine. Attempts with a hold are
// in doubt, because their orders may be committed.
func (s *Service) leaveAfterPanic(all attempts) {
	p := recover()
	if p == nil {
		return
	}
	s.log.Error("batch panicked", "orders", len(all), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	for _, a := range all.only(func(a *Attempt) bool { return a.done != nil }) {
		if a.held() {
			a.Err = fmt.Errorf("%w: the batch panicked", ErrCommitUnknown)
		} else {
			a.Err = ErrFallback
		}
		a.leave()
	}
}

// Close waits until the batches in progress have ended, or ctx ends.
func (s *Service) Close(ctx context.Context) error {
	if s.batches == nil {
		return nil
	}
	return s.batches.Close(ctx)
}
