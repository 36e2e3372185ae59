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

	"seckill/internal/lab/harness"
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

// All returns the experiments in the order in which they are best read.
func All() []Experiment {
	return []Experiment{
		// The order of lock and transaction.
		unlockBeforeCommit(),
		readBeforeLock(),
		// The lock itself.
		setnxThenExpire(),
		deleteAnothersLock(),
		deferUnlock(),
		// A lock is a lease.
		longerThanLease(),
		renewAnothersLock(),
		staleHolder(),
		lossToldLate(),
		// Replies that are lost, and errors that are ignored.
		lostReply(),
		ambiguousCommit(),
		afterDeadlock(),
		afterLockWaitTimeout(),
		// Rows.
		forUpdateMissingRow(),
		foreignKeyHotRow(),
		hotRowLast(),
		// Connections.
		samePool(),
		getLockWrongConnection(),
		// Servers that fail over, and clocks.
		failover(),
		redlockClock(),
		lockTable(),
		// Without a lock.
		optimisticWatch(),
		compareAndSetABA(),
		versionBesideLock(),
		// The cost, and what is left over.
		herd(),
		hotKey(),
		noSiblings(),
		// All of it together.
		defenceInDepth(),
	}
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

// RunAll runs experiments one after the other and calls tell with each result. It stops early if
// ctx ends.
func RunAll(ctx context.Context, servers *harness.Servers, experiments []Experiment, tell func(harness.Result)) []harness.Result {
	var results []harness.Result
	for _, e := range experiments {
		if ctx.Err() != nil {
			break
		}
		r := harness.RunExperiment(ctx, servers, e)
		if ctx.Err() != nil {
			break
		}
		results = append(results, r)
		tell(r)
	}
	return results
}
