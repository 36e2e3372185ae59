// Package zklock keeps leases in ZooKeeper: one server, or an ensemble.
//
//	/seckill/held/user:42/<token>.0000000007   the holder: of those in a folder the one with the lowest number
//	/seckill/line/user:42/<random>.0000000003  a waiter
//	/seckill/raised                            what is added to every fence, see AdvanceFence
//
//	holder ◀── watches ── first in line ◀── watches ── second ◀── watches ── third …
//
// Every node of a key is ephemeral and sequential, and has a name that no other node has. So a call
// that is repeated after a lost reply finds its own node by the token in the name. No client can
// delete the node of another.
//
// Each waiter watches only its predecessor, so a release wakes one waiter and not the herd. The
// line orders the waking and not the taking: a caller that asks in the moment of the release may
// get the key first. The folders are containers, which ZooKeeper removes when they are empty.
//
// The fence is the czxid of the node, the number of the transaction that created it. This number
// grows over the whole ensemble, and also after nodes were deleted. It begins anew if an ensemble
// loses its data. Then AdvanceFence lifts the fence, if the database has seen a larger one.
//
// # A lease is a session
//
// ZooKeeper's clock ends a session and not a node. So a Backend has one session for every length of
// lease that callers ask for, and that length is the session's timeout. The keys of a dead process
// are free when its lease would have run out, give or take a tick.
//
// A session per acquisition would be more exact. It would cost two agreed writes and a connection
// more for each acquisition. One session for all lengths would free the longest late or the
// shortest early.
//
// The server names the timeout that it grants (from 2 to 20 ticks by default). The Backend rejects
// a longer lease with a message, because such a lease could end before its holder hears of it. The
// Backend accepts a shorter lease. Its holder keeps to the shorter time, and only after a crash is
// the key free as late as the session ends.
//
// There are at most sixteen sessions at once, because each has a connection of its own. A session
// that nothing needs makes room for another length. So there may be any number of lengths one after
// the other, and sixteen among the leases that are held or waited for at one time.
//
// A session lives on when a lease ends, because it may have other keys. A lease may end without a
// renewal, because the outcome of its work is unknown or because its create lost its reply. Then
// the Backend deletes the node when the lease is over, and tries until it is certain. No orphan
// blocks its own session.
//
// A renewal asks the leader (sync), and then whether the node is still there and ours. In an
// ensemble a follower reports its living sessions to the leader within half a tick. If a follower
// dies in that moment, a session may lose that much of its length. Leases of five ticks or more
// have it in their margin.
//
// # When a server fails
//
// A majority agrees on a write, so an answered grant survives a failover. A new leader gives every
// session its full length anew. While no server can be reached, the Backend hears of nothing, and
// the holder's own clock ends the work.
//
// The Backend makes a broken connection again at once, then every tenth of a second. If the server
// answers that the session has expired, all leases of the session are lost at once
// (lock.Grant.Gone), even if their next renewal is far.
//
// # Round trips
//
// A free key costs three round trips (read, create, read again with the fence), of which one is a
// write. Its release costs one write, and a renewal two reads. A key that another holder has costs
// one read and writes nothing.
package zklock
