// Package lab shows what goes wrong when locks, leases and transactions are used in the wrong
// order, and what prevents it.
//
//	one file ─ one experiment ─ wrong beside right: the same work in both, differing
//	           in the one thing that it teaches
//
// An experiment is read from its script, which is what each process does, and its schedule, which
// orders their steps. Package harness runs it on real servers, and package report draws what
// happened. Everything here that is wrong is so on purpose.
//
// What is not promised: that the right case is enough. Each experiment shows one line of defence
// and leaves the others out.
package lab

import (
	"context"
	"fmt"

	"example.com/seckill/internal/tools/lab/harness"
)

type (
	// Run is one run of a case.
	Run = harness.Run
	// Actor is one process of an experiment.
	Actor = harness.Actor
	// Experiment shows one anomaly.
	Experiment = harness.Experiment
	// Case is one way of doing the work.
	Case = harness.Case
	// Step is one step of an actor.
	Step = harness.Step
)

// The names that make experiments short to read.
var (
	text  = harness.NewText
	wrong = harness.Wrong
	right = harness.Right
)

// Group is the experiments about one thing.
type Group struct {
	Title       harness.Text
	Experiments []Experiment
}

// Groups returns the experiments in the order in which they are best read.
func Groups() []Group {
	return []Group{
		{text("The order of lock and transaction", "锁与事务的先后"), []Experiment{unlockBeforeCommit(), readBeforeLock()}},
		{text("The lock itself", "锁本身"), []Experiment{setnxThenExpire(), deleteAnothersLock(), deferUnlock()}},
		{text("A lock is a lease", "锁是租约"), []Experiment{longerThanLease(), renewAnothersLock(), staleHolder(), lossToldLate()}},
		{text("Replies that are lost, and errors that are ignored", "丢失的应答，被忽略的错误"), []Experiment{lostReply(), ambiguousCommit(), afterDeadlock(), afterLockWaitTimeout()}},
		{text("Rows", "行"), []Experiment{forUpdateMissingRow(), foreignKeyHotRow(), hotRowLast()}},
		{text("Connections", "连接"), []Experiment{samePool(), getLockWrongConnection()}},
		{text("Servers that fail over, and clocks", "故障切换与时钟"), []Experiment{failover(), redlockClock(), lockTable()}},
		{text("Without a lock", "不用锁"), []Experiment{optimisticWatch(), compareAndSetABA(), versionBesideLock()}},
		{text("The cost, and what is left over", "代价与剩余"), []Experiment{herd(), hotKey(), noSiblings()}},
		{text("All of it together", "全部合在一起"), []Experiment{defenceInDepth()}},
	}
}

// All returns the experiments of all groups.
func All() (all []Experiment) {
	for _, g := range Groups() {
		all = append(all, g.Experiments...)
	}
	return all
}

// Find returns the experiment with that name.
func Find(name string) (Experiment, error) {
	for _, e := range All() {
		if e.Name == name {
			return e, nil
		}
	}
	return Experiment{}, fmt.Errorf("there is no experiment %q: see seckill lab list", name)
}

// Play runs an experiment and puts its source beside what happened.
func Play(ctx context.Context, servers *harness.Servers, e Experiment) harness.Result {
	r := harness.RunExperiment(ctx, servers, e)
	addSource(&r)
	r.Place = place(e.Name)
	return r
}

// RunAll runs experiments one after the other and calls tell with each result. It stops early if
// ctx ends.
func RunAll(ctx context.Context, servers *harness.Servers, experiments []Experiment, tell func(harness.Result)) []harness.Result {
	var results []harness.Result
	for _, e := range experiments {
		if ctx.Err() != nil {
			break
		}
		r := Play(ctx, servers, e)
		if ctx.Err() != nil {
			break
		}
		results = append(results, r)
		tell(r)
	}
	return results
}
