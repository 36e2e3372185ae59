// Package redislock keeps leases in Redis: a standalone server, one behind
// Sentinel, or a Cluster.
//
// What it does not promise: that a lease survives a failover. A master that dies
// before its replica heard of a grant takes the grant with it, unless Replicas
// asks for more. The fence keeps data right in that case too.
//
//	seckill:{lock:42}:user:42   →  "<token> <fence>", expires with the lease;
//	                               " waited" behind it once a waiter was refused
//	seckill:{lock:42}:fence     →  the last fence of this bucket, never expires
//	seckill:{lock:42}:freed        channel: the name of each key that is released and was waited for
//
// In fair mode there is a line for each key that callers wait for: see fair.go. Many keys
// at once are one script, or one for each master of a Cluster: see many.go.
//
// The 64 buckets spread the keys over a Cluster and keep the number of counters
// small: one per bucket and not one per key, for they may never expire. Lock and
// counter share a slot, so one script touches both.
//
// Every script compares the owner and is one atomic step. Only the server's
// clock is used.
package redislock
