// Package model is the order path as a state machine that is small enough to explore every state of it.
//
//	state ──every possible action──▶ states ──▶ … until there is no new one
//	        clients, instances, reconciler,        in each: I1 to I10
//	        relays, loader, database, Redis        from each: a way to rest
//	        and the adversary
//
// Explore (explore.go) knows nothing of orders. It goes from state to state, nearest first. On the way back it reports
// the states from which the system cannot come to rest. Explore runs on a Sale: a few units on two shards, at most two
// users with three purchase requests, and bounded numbers of faults. The sales are small because a mistake in the
// order of steps usually shows in a small sale or not at all.
//
// # Modelled behavior
//
// Each action is a line of the real path and has the name that place.go uses. The model has these parts:
//
//   - The scripts of stock/lua, with home shards, marks, lent units, shares of a hold and epochs (scripts.go).
//   - The transaction, statement by statement (tx.go, transact.go). It has row locks that block others, unique indexes
//     and a COMMIT whose reply is lost.
//   - The lock with its lease and its fences (locks.go).
//   - Void orders, tickets and the query for an earlier order (attempt.go, redis.go).
//   - The reconciler (reconciler.go).
//   - Payment, cancellation, expiry and the outbox (relay.go).
//   - Loadings that count the buyers one by one (loader.go). A fault interrupts a loading; a later run continues it.
//   - Units that an administrator adds while the sale runs (raise.go).
//   - Instances of two versions, which keep the shards in layouts that only one of them may know (layouts.go).
//
// The adversary kills processes and loses answers, before and after the work is done. It delays commands and ends
// leases while their holder works. It empties a shard or rolls the shard back to the data of a lagging replica
// (adversary.go). It also rolls the database back to an earlier state (history.go). A backup, a clone or a replica
// that lacks the last writes has this effect.
//
// # Omitted behavior
//
// Time: the model has no clock. An action that may take long takes any time. The reconciler may reconcile a hold of
// any age, and an order may expire at once.
//
// Bytes: ids are small numbers, and the network alters no message. An attempt that starts again after a stale epoch
// keeps its id. The commands of the reconciler, the relay, the raisers and the loader are done or not done, and never
// late.
//
// Batches and groups: the model has none, because every result of a batch is one of the explored runs.
//
//   - A script for many requests equals the scripts for one request in sequence, with no other action between them.
//   - A group's COMMIT equals its members' COMMITs, all done or none, with no other action between them.
//   - A reply that is lost for all members equals a reply that is lost for each member.
//   - A member that falls back to an individual call continues from a state that a single order can reach.
//
// Explore covers each of these sequences of single actions, with every loss.
//
// The model also omits:
//
//   - The flags and caches that only save work.
//   - Queue mode.
//   - A database that is rolled back to a state younger than the last heartbeat, which no instance can detect.
//   - Two databases at once.
//   - The deployment's id.
//
// A result of the model holds for the order of steps. The tests with the real stores check that the code keeps this
// order.
//
// # Reading a trace
//
// A line is an action: the actor, its step → the answer, and then the numbers. The numbers have the letters of the
// invariants: D and A in the database, the units in both shards, the open holds h, the returns G on their way. "!"
// marks the adversary. The last line names the broken promise. The action above the last line broke it. Each trace is
// the shortest for its bug. The traces of the planted bugs are in testdata. "stuck" ends a trace from which the system
// cannot come to rest without a further fault.
//
// # Adding an action
//
// Write a method that gets the state by value. The method changes the state and calls tell, once for each possible
// result. Call the method from Next. If the action must remember a value, add a field to State. The field holds only
// numbers. Set the field to zero as soon as its value has no effect, because each value that stays doubles the states.
// If the system must come to rest without the action, mark the action as a Fault and count it down in State.left.
//
// To add a bug, add a bit in bugs.go, test it at the line that it breaks, and add a row in bugs_test.go. Then write the
// trace with "go test -update" and read it.
package model
