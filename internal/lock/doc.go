// Package lock lets one process at a time run a piece of code.
//
// Every lock in this package is a lease: it can be lost while it is held, when
// a timeout passes, a connection drops or a server fails over. So a lock here
// reduces contention and orders work; it does not by itself protect data. The
// fence of a lease, which grows with every new holder, lets the database do that.
//
// The order is always the same, and Do writes it down once:
//
//	acquire ─▶ work (begin ─▶ write ─▶ commit) ─▶ release
//
// What happens to one key, seen from two processes:
//
//	process 1   goroutine a ── holds ──┐ release, or pass
//	            goroutine b ── queue ──┴─▶ asks, or holds ──┐
//	            goroutine c ── queue ── queue ──────────────┴─▶ …
//	process 2   goroutine d ── asks, sleeps, is woken, asks …
//
// In a process the callers of one key queue in the order they came, and only
// the first of them talks to the server. It need not ask where the backend takes the key
// from a holder and gives it to the next in one call (Passer); now and then the key is
// freed all the same, if other processes wait. Across processes the caller that asks first
// after a release gets the key, unless the backend has a line of its own (Queuer).
//
// Many keys at once are DoMany: one trip to acquire what is free, one to release it, and
// a lease of its own for each key.
//
// The promise about what is abandoned: a key that a call took when its caller
// had given up or had asked again is free within a second of its taking or of
// the server's return, as far as the server answers eight tries at a time soon
// enough. See Cleaner.
//
// The promise about loss: the context given to the work ends, with cause
// ErrLost, before another caller can acquire the key. This also holds when the
// server cannot be reached, because the end of the lease is reckoned locally,
// from the start of the last confirmed call and less a margin. It does not hold
// for a process that is stopped as a whole; that is what the fence is for.
package lock
