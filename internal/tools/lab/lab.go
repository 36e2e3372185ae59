// Package lab shows the anomalies of locks, leases and transactions that are used in the wrong order, and
// the means that prevent them.
//
//	one file ─ one experiment ─ wrong beside right: the same work in both, differing
//	           in the one thing that it teaches
//
// An experiment has a script and a schedule. The script is the work of each process, and the schedule
// orders the steps. Package harness runs the experiment on real servers, and package report draws the
// result. Everything here that is wrong is so on purpose.
//
// The package does not promise that the right case is enough. Each experiment shows one line of defence and
// leaves the others out.
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

// Short names, so that experiments are short to read.
var (
	text  = harness.NewText
	wrong = harness.Wrong
	right = harness.Right
)

// Group is a list of experiments about one subject.
type Group struct {
	Title       harness.Text
	Experiments []Experiment
}

// Groups returns the experiments in reading order.
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

// Play runs an experiment, and adds the source of its scripts to the result.
func Play(ctx context.Context, servers *harness.Servers, e Experiment) harness.Result {
	r := harness.RunExperiment(ctx, servers, e)
	addSource(&r)
	r.Place, r.Asks = place(e.Name), question(e.Name)
	return r
}

// RunAll runs the experiments one after the other, and calls tell with each result. It stops early if ctx
// ends.
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
