// Package lock lets one process at a time run a piece of code.
//
// Every lock in this package is a lease. It can be lost while it is held, when a timeout passes, a
// connection drops or a server fails over. So a lock here reduces contention and orders work; it
// does not protect data by itself. The fence of a lease grows with every new holder. With the fence
// the database can protect the data.
//
// The order is always the same, and Do implements it:
//
//	acquire ─▶ work (begin ─▶ write ─▶ commit) ─▶ release
//
// The next drawing follows one key through two processes:
//
//	process 1   goroutine a ── holds ──┐ release, or pass
//	            goroutine b ── queue ──┴─▶ asks, or holds ──┐
//	            goroutine c ── queue ── queue ──────────────┴─▶ …
//	process 2   goroutine d ── asks, sleeps, is woken, asks …
//
// In a process the callers of one key queue in the order in which they came. Only the first of them
// talks to the server. If the backend is a Handoffer, one call takes the key from a holder and gives
// it to the next caller, so the next caller need not ask. If other processes wait, the holder still
// frees the key now and then. Across processes, the caller that asks first after a release gets the
// key, unless the backend has a line of its own (FairBackend).
//
// DoMany handles many keys at once. It acquires the free keys in one round trip and releases them
// in another. Each key has a lease of its own.
//
// The Locker promises this about abandoned calls. A call may take a key after its caller has given
// up or has asked again. The Locker frees such a key within a second of the taking, or of the
// server's return. This holds as long as the server answers eight tries at a time soon enough. See
// Cleaner.
//
// The Locker promises this about loss. The context of the work ends, with cause ErrLost, before
// another caller can acquire the key. This also holds when the server cannot be reached. The Locker
// computes the end of the lease locally: from the start of the last confirmed call, less a margin.
// The promise does not hold for a process that is stopped as a whole. The fence protects the data
// in that case.
package lock
