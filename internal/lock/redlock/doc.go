// Package redlock keeps leases in N independent Redis masters, of which a majority
// must agree. It goes on working while a minority of them is away or has lost its
// data.
//
//	               ┌─▶ node 1   taken ┐
//	               ├─▶ node 2   taken ┤
//	acquire ───────┼─▶ node 3   taken ┴ majority ─▶ in time? ─▶ fence ─▶ granted
//	 all at once   ├─▶ node 4   another's               │         from the database
//	               └─▶ node 5   no answer               └ no: freed everywhere, refused
//
//	validity = lease − elapsed − drift, which is 1 % of the lease and 2 ms
//
// What it does not promise: that two never hold a key at once. It rests on clocks
// that run alike and on nodes that remember. A node that restarts empty votes again
// within the lease of a vote it gave: run the nodes with appendfsync always, or keep
// a restarted one away for as long as a lease lasts. Replicas of the nodes are of no
// use, and harmful: each failover may forget votes.
//
// It has no honest fence of its own, because no counter of a minority would go on
// growing, and none of a majority could be read in one step. So the fence is a row
// in the database, raised for each grant: a holder that was admitted wrongly has another
// number than the holder, and the database refuses the smaller one.
//
// What it costs. An acquisition is one round trip to all nodes at once, as slow as
// the slowest, and one commit for the fence. Renewal and release are one round trip
// each. A node that refuses connections costs nothing; one that does not answer
// costs every call the timeout of a node. Callers that meet may split the votes;
// then the one with the most keeps them and asks again, and the others withdraw.
// There are no messages: a waiter asks again and again.
//
// A node that was silent may give its vote late. The vote is taken back in the background,
// if it comes within half a minute: see late.go.
package redlock
