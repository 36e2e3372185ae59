// Package chaos runs a fleet of real processes on private real servers, sends a crowd
// to it, breaks something, and holds what the buyers were told against what is there
// when everything has come to rest.
//
//	environment: MariaDB, Redis (one, a Cluster, or behind a fault proxy with a replica), 2 × seckill serve
//	 │
//	 └─▶ round: a fresh coupon ─▶ two thirds of the crowd │ the fault │ healed ─▶ the rest
//	       ─▶ 202s followed to their end ─▶ rest: R = D, h = G = 0, the audit clean, within 31 s
//	       ─▶ every acknowledged order read back, and asked for again with its key
//	       ─▶ late buyers take what is left ─▶ Result
//
// A fault is one fault: at a point of the order path (kill -9, SIGSTOP for longer than
// the lease, a lost reply; see package faults), or of a component. The crowd keeps a
// record of its own and the stores are read beside the program, so that the program is
// not its own judge; its audit must agree.
//
// In some rounds a round trip to the stores takes 2 ms (distance.go). In others many small coupons are on sale at the
// same time (many.go). Each has its own buyers. In a third of the rounds buyers repeat each refused key (keys.go).
//
// The fleet has the rights at its stores that it is told to need, and no others. A database
// that is set back takes with it what was acknowledged since its copy was made (history.go):
// the checker reads from the copy which orders those are not.
//
// The same seed plans the same round: the buyers, the limit, the point's pass. What the
// processes and the network do in it is not repeated. And a round that finds nothing
// proves nothing by itself: the harness is trusted because it has been seen to catch
// bugs that were planted.
//
// To hold it against a planted bug, name one of its faults as a test:
//
//	Killed by: ./internal/testing/chaos -run TestEveryCell/commit.before:lose
//
// The test builds the program with the flags in GOFLAGS, which is where the mutant is
// handed on; by hand:
//
//	GOFLAGS=-overlay=/tmp/overlay.json go test ./internal/testing/chaos -run TestEveryCell/commit.before:lose
package chaos
