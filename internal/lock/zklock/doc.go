// Package zklock keeps leases in ZooKeeper: one server, or an ensemble.
//
//	/seckill/held/user:42/<token>.0000000007   the holder: of those in a folder the one with the lowest number
//	/seckill/line/user:42/<random>.0000000003  a waiter
//	/seckill/raised                            what is added to every fence, see Raise
//
//	holder ◀── watches ── first in line ◀── watches ── second ◀── watches ── third …
//
// Every node of a key is ephemeral and sequential, and has a name that no other
// has. So a call that is repeated after a lost reply finds its own node by the
// token in the name, and no client can delete another's. Every waiter watches its
// predecessor alone: a release wakes one of them and not the herd. The line orders
// the waking and not the taking: a caller that asks in the moment of the release may be
// given the key first. The folders are containers, which ZooKeeper removes when
// they are empty.
//
// The fence is the czxid of the node: the number of the transaction that created
// it, which grows over the whole ensemble, and also after nodes were deleted. It
// begins anew if an ensemble loses its data; then Raise lifts it, if the database
// has seen more.
//
// # A lease is a session
//
// What ZooKeeper keeps by its own clock is a session and not a node. So a Backend
// has one session for every length of lease that is asked for, and that length is
// the session's timeout: the keys of a process that died are free when its lease
// would have run out, give or take a tick. A session per acquisition would be more
// exact and cost two agreed writes and a connection more for each; one session for
// all lengths would free the longest late or the shortest early.
//
// The server says what timeout it grants (from 2 to 20 ticks by default). A lease
// that is longer than that is refused, in words, for it could end before its
// holder hears of it. A shorter one is accepted: it is kept by the holder, and only
// a crash frees it as late as the session ends.
//
// There are at most sixteen sessions at once, because each has a connection of its own.
// One that nothing needs makes room for another length; so there may be any number of
// lengths one after the other, and sixteen among the leases that are held or waited for
// at one time.
//
// A session lives on when a lease ends, for it may have other keys. So a lease
// that is not renewed, because its work's outcome is unknown or because its create
// lost its reply, is ended by the Backend: it deletes the node when the
// lease is over, and tries until it is certain. No orphan blocks its own session.
//
// Renewal asks the leader (sync) and then whether the node is still there and ours.
// In an ensemble a follower tells the leader of its living sessions within half a
// tick; a follower that dies in that moment may cost a session that much of its
// length. Leases of five ticks or more have it in their margin.
//
// # When a server fails
//
// A write is agreed upon by a majority, so a grant that was answered survives a
// failover. A new leader gives every session its full length anew. While no server
// can be reached nothing is told to us, and the holder's own clock ends the work.
// A connection that broke is made again at once, then every tenth of a second. If the
// server answers that the session has expired, all leases of the session are lost at once
// (lock.Grant.Gone), also those whose next renewal is far.
//
// # Round trips
//
// A free key costs three (look; create; look again, with the fence), of which one
// is a write; its release one write; a renewal two reads. A key that another has
// costs one read and writes nothing.
package zklock
