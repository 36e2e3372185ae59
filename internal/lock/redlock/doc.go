// Package redlock keeps leases in N independent Redis masters, of which a majority must agree. It
// goes on working while a minority of them is unavailable or has lost its data.
//
//	               ┌─▶ node 1   taken ┐
//	               ├─▶ node 2   taken ┤
//	acquire ───────┼─▶ node 3   taken ┴ majority ─▶ in time? ─▶ fence ─▶ granted
//	 all at once   ├─▶ node 4   another's               │         from the database
//	               └─▶ node 5   no answer               └ no: freed everywhere, refused
//
//	validity = lease − elapsed − drift, which is 1 % of the lease and 2 ms
//
// It does not promise that two callers never hold a key at once. It relies on clocks that run alike
// and on nodes that remember. A node that restarts empty votes again within the lease of a vote
// that it gave. Run the nodes with appendfsync always, or keep a restarted node away for the length
// of a lease. Replicas of the nodes are useless and harmful: each failover may forget votes.
//
// It has no reliable fence of its own. No counter of a minority would go on growing, and no counter
// of a majority could be read in one step. So the fence is a row in the database, raised for each
// grant. A holder that was admitted wrongly has another number than the holder, and the database
// rejects the smaller one.
//
// An acquisition costs one round trip to all nodes at once, as slow as the slowest, and one commit
// for the fence. Renewal and release cost one round trip each. A node that refuses connections
// costs nothing. A node that does not answer costs every call the timeout of a node.
//
// Callers that meet may split the votes. Then the caller with the most votes keeps them and asks
// again, and the others withdraw. There are no messages: a waiter asks again and again.
//
// A node that was silent may give its vote late. The Backend takes the vote back in the background,
// if it comes within half a minute: see late.go.
package redlock
