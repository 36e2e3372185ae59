// Package chaos runs real instances on private real servers, sends buyers to them and injects a fault. When
// everything is at rest, it compares the answers that the buyers got with the data in the stores.
//
//	environment: MariaDB, Redis (one, a Cluster, or behind a fault proxy with a replica), 2 × seckill serve
//	 │
//	 └─▶ round: a fresh coupon ─▶ two thirds of the crowd │ the fault │ healed ─▶ the rest
//	       ─▶ 202s followed to their end ─▶ rest: R = D, h = G = 0, the audit clean, within 31 s
//	       ─▶ every acknowledged order read back, and asked for again with its key
//	       ─▶ late buyers take what is left ─▶ Result
//
// A round has one fault: at a point of the order path, or of a component. A fault at a point is kill -9,
// SIGSTOP for longer than the lease, or a lost reply; see package faults. The workload keeps its own record,
// and the checker reads the stores directly, so that the program is not its own judge. The audit of the program
// must agree.
//
// In some rounds a round trip to the stores takes 2 ms (distance.go). In others many small coupons are on sale
// at the same time (many.go), and each coupon has its own buyers. In a third of the rounds, buyers repeat each
// rejected key (keys.go).
//
// The instances have exactly the rights at the stores that the program lists as necessary. If the database is
// rolled back to a copy, it loses the orders acknowledged after the copy was made (history.go). The checker
// reads from the copy which orders are left.
//
// The same seed plans the same round: the buyers, the limit, the point's pass. The seed does not repeat the
// behavior of the processes and the network. A round that finds nothing proves nothing by itself. The harness
// is trusted because it catches planted bugs.
//
// To run the harness against a planted bug, name one of its faults as a test:
//
//	Killed by: ./internal/testing/chaos -run TestChaos_EveryCell_StaysRight/commit.before:lose
//
// The test builds the program with the flags in GOFLAGS, and GOFLAGS also passes the mutant on. By hand:
//
//	GOFLAGS=-overlay=/tmp/overlay.json go test ./internal/testing/chaos -run TestChaos_EveryCell_StaysRight/commit.before:lose
package chaos
