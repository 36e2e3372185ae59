// Package etcdlock keeps leases in etcd: one server, or a cluster of them.
//
//	seckill/lock/held/user:42            →  token; attached to the acquisition's own etcd lease
//	seckill/lock/line/user:42/<random>   →  a waiter, in order of creation; a lease of its own
//	seckill/lock/raised                  →  what is added to every fence, see AdvanceFence
//
//	holder ◀── watches ── first in line ◀── watches ── second ◀── watches ── third …
//
// Each waiter watches only its predecessor, so a release wakes one waiter and not the herd. The
// line orders the waking and not the taking: a caller that asks in the moment of the release may
// get the key first.
//
// An acquisition has one token and one etcd lease. The id of the lease is made from the key and the
// token, so a call that is repeated after a lost reply finds its own lease and its own key. A
// revoked lease also disables late calls of its acquisition, because etcd rejects a write that
// names a revoked lease. Two acquisitions never share a lease, so neither can free the key of the
// other.
//
// The fence is the create revision of the key. etcd counts every write of the whole cluster. So the
// revision grows from holder to holder, and goes on growing when keys are deleted. It goes back if
// a cluster is restored from a snapshot. Then AdvanceFence lifts the fence, if the database has seen a
// larger one.
//
// # Whole seconds
//
// An etcd lease lasts whole seconds, and at least one and a half election timeouts (2 s by
// default). Leases are rounded up. The holder keeps to the length that it asked for, and renews and
// detects a loss by that length. So it hears of a loss no later than with an exact server, and
// before another caller can acquire the key.
//
// The price is paid after a crash. The key of a dead holder is free only after the rounded lease,
// and after the half second or so in which etcd looks for expired leases. A lease below 2 s does
// not free the key earlier.
//
// # When a server fails
//
// A majority agrees on grants, renewals and releases, so an answered grant survives a failover. A
// new leader gives every lease its full length anew. Keys of dead holders stay longer then, and no
// holder loses its key early. A minority answers nothing.
//
// # History
//
// etcd keeps every version of every key until it is compacted. It rejects writes when its space is
// used up, 2 GB by default. An acquisition and its release leave two versions, a waiter two more.
// So a server of locks must compact by itself, for instance with
//
//	--auto-compaction-mode=revision --auto-compaction-retention=100000
//
// The watches here begin at the revision that they read. If etcd rejects a watch as compacted, the
// waiter reads again.
//
// # Round trips
//
// A free key costs three round trips: a read, the lease and the write. Its release costs two
// (delete, revoke), and a renewal two (keep alive, compare). A key that another holder has costs
// one read and writes nothing.
package etcdlock
