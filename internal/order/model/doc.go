// Package model is the order path as a machine so small that every state of it can be
// looked at.
//
//	state ──every possible action──▶ states ──▶ … until there is no new one
//	        clients, instances, reconciler,        in each: I1 to I10
//	        relays, loader, database, Redis        from each: a way to rest
//	        and the adversary
//
// Explore (explore.go) knows nothing of orders: it goes from state to state, nearest
// first, and on the way back says from which states no rest can be reached. A Sale is
// what it explores: a few units on two shards, at most two users who ask three times,
// and bounded numbers of faults. Small sales, because a mistake in the order of things
// shows in a small one or, as a rule, not at all.
//
// # What is modelled
//
// Each action is a line of the real path, named in place.go's words: the scripts of
// stock/lua with home shards, marks, lent units, shares of a hold and epochs
// (scripts.go); the transaction statement by statement with the row locks that others
// wait for, unique indexes and a COMMIT whose reply is lost (tx.go, transact.go); the
// lock with its lease and its fences (locks.go); void orders, tickets, the look for an
// earlier order (attempt.go, redis.go); the reconciler (reconciler.go), payment, cancellation,
// expiry and the outbox (relay.go), loadings that count the buyers one by one, are cut off
// and gone on with (loader.go), units that an administrator adds while the sale runs
// (raise.go). The adversary kills, loses answers before and after the work is done, lets
// commands arrive late, ends leases while their holder works, empties a shard or sets it
// back to the data of a lagging replica (adversary.go), and sets the database
// back to an earlier state, as a backup, a clone or a replica that lacks the last writes
// does (history.go). The instances may be of two versions, which keep
// the shards in layouts that they do not both know (layouts.go).
//
// # What is not
//
// Time: there is no clock, so whatever may take long takes any time at all; a hold of
// any age may be reconciled, and an order may expire at once. Bytes: ids are small numbers,
// and the network does not alter anything. An attempt that begins anew after a stale
// epoch keeps its id. The commands of the reconciler, the relay, the raisers and the loader are done or
// not done, never late. Batches and groups: what they do is one of the runs that are looked
// at. A script for many is those for one, one after the other, with no other between them; a
// group's COMMIT is its members' COMMITs, all done or none, with no other between them; a
// reply that is lost for all members is one that is lost for each; a member that goes alone
// goes on from a state in which a single one may be. Every such order of single actions, with
// every loss, is explored. Not modelled are the flags and caches that only save work, and queue
// mode; a database that is set back to a state younger than the last
// heartbeat, which none can notice; two databases at once; the deployment's id. What holds
// here is true of the order of things; that the code
// keeps to this order is for the tests of the real stores to say.
//
// # Reading a trace
//
// A line is an action: its actor and what it did → what was answered, and the numbers after it, in
// the letters of the invariants: D and A in the database, the units in both shards, the
// open holds h, the returns G on their way. "!" marks the adversary. The last line names
// the promise that does not hold any more; the action above it broke it. Traces are the
// shortest there are; those of the planted bugs are in testdata. "stuck" ends one from
// which no way leads to rest without a further fault.
//
// # Adding an action
//
// Write a method that gets the state by value, changes it and tells it, once for each
// thing that can happen; call it from Next. What it needs to remember is a field of the
// State, of numbers alone, and zero as soon as it does not matter: each value that lives
// on doubles the states. What must not depend on it is marked as a Fault and counted
// down in State.left. A bug is a bit in bugs.go, asked for at the line that it breaks,
// and a row in bugs_test.go; then write down the trace with "go test -update" and read it.
package model
