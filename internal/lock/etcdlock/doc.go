// Package etcdlock keeps leases in etcd: one server, or a cluster of them.
//
//	seckill/lock/held/user:42            →  token; attached to the acquisition's own etcd lease
//	seckill/lock/line/user:42/<random>   →  a waiter, in order of creation; a lease of its own
//	seckill/lock/raised                  →  what is added to every fence, see Raise
//
//	holder ◀── watches ── first in line ◀── watches ── second ◀── watches ── third …
//
// Every waiter watches its predecessor alone, so a release wakes one of them and
// not the herd. The line orders the waking and not the taking: a caller that asks in
// the moment of the release may be given the key first.
//
// An acquisition has one token and one etcd lease, whose id is made from the key
// and the token. So a call repeated after a lost reply finds its own lease and its
// own key, and a lease that is revoked takes with it whatever of the acquisition
// arrives late: a write that names a revoked lease is refused. Two acquisitions
// never share a lease, so none can free what is another's.
//
// The fence is the create revision of the key: etcd counts every write of the
// whole cluster, so it grows from holder to holder, and goes on growing when keys
// are deleted. It goes back if a cluster is restored from a snapshot; then Raise
// lifts it, if the database has seen more.
//
// # Whole seconds
//
// An etcd lease lasts whole seconds, and at least one and a half election
// timeouts (2 s by default). Leases are rounded up. The holder keeps to the
// length that it asked for: it renews and hears of a loss by that, so the news
// comes no later than with an exact server, and earlier than another caller can
// acquire. The price is paid after a crash: the key of a holder that died is free
// only after the rounded lease, and the half second or so in which etcd looks for
// what ran out. A lease below 2 s buys no earlier freedom.
//
// # When a server fails
//
// Grants, renewals and releases are agreed upon by a majority, so a grant that
// was answered survives a failover. A new leader gives every lease its full
// length anew: keys of dead holders stay longer then, and no holder loses early. A
// minority answers nothing.
//
// # History
//
// etcd keeps every version of every key until it is compacted, and refuses writes when its
// space is used up, 2 GB by default. An acquisition and its release leave two versions, a
// waiter two more: so a server of locks must compact by itself, for instance with
//
//	--auto-compaction-mode=revision --auto-compaction-retention=100000
//
// The watches here begin where they read, and read again when they are refused as compacted.
//
// # Round trips
//
// A free key costs a read, the lease and the write, three; its release two
// (delete, revoke); a renewal two (keep alive, compare). A key that another has
// costs one read and writes nothing.
package etcdlock
