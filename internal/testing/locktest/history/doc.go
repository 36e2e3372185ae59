// Package history compares the observations of many clients of a lock with a model of a perfect lock.
//
// Clients of several processes act at random, while the tests kill or stop processes, cut connections and lose
// replies. The package records each answer with the times of its call. A checker of linearizability (porcupine)
// then searches for an order in which a perfect lock could have given these answers.
//
//	client ─▶ Locker ─▶ process (kill, stop) ─▶ proxy (cut, lose, delay) ─▶ server
//	   └────▶ register: refuses a write with a smaller fence than it has seen
//
// The package does not promise that the next run has the same calls. A seed repeats the plan, but not the
// decisions of the scheduler.
//
// The model is a mutex with leases and fences (see step). It represents uncertainty. A call without an answer
// is an operation that may or may not have happened. The end of a lease is an operation between two times: the
// earliest at which the server may end the lease, and the latest at which it must.
package history
