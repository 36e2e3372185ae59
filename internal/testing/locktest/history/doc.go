// Package history checks what many clients saw of a lock against a model of one.
//
// Clients of several processes do what they like at random, while processes are
// killed or stopped, connections cut and replies lost. Everything they were told
// is written down with its moments, and a checker of linearizability (porcupine)
// looks for an order in which a perfect lock could have given those answers.
//
//	client ─▶ Locker ─▶ process (kill, stop) ─▶ proxy (cut, lose, delay) ─▶ server
//	   └────▶ register: refuses a write with a smaller fence than it has seen
//
// What it does not promise: that the next run asks the same. A seed gives the same
// plan again, and the scheduler does with it what it wants.
//
// The model is a mutex with leases and fences (see step). What is uncertain is not
// hidden: a call without an answer is an operation that may or may not have
// happened, and the end of a lease one that happens at some moment between the
// earliest at which the server may and the latest at which it must let it run out.
package history
