// Package redislock keeps leases in Redis: a standalone server, one behind Sentinel, or a Cluster.
//
// It does not promise that a lease survives a failover. A master that dies before its replica
// received a grant takes the grant with it, unless Replicas asks for more. The fence keeps the data
// right even then.
//
//	seckill:{lock:42}:user:42   →  "<token> <fence>", expires with the lease;
//	                               " waited" behind it once a waiter was refused
//	seckill:{lock:42}:fence     →  the last fence of this bucket, never expires
//	seckill:{lock:42}:freed        channel: the name of each key that is released and was waited for
//
// In fair mode there is a line for each key that callers wait for: see fair.go. Many keys at once
// take one script, or one script per master of a Cluster: see many.go.
//
// The 64 buckets spread the keys over a Cluster and keep the number of counters small. Counters may
// never expire, so there is one per bucket and not one per key. Lock and counter share a slot, so
// one script touches both.
//
// Every script compares the owner and is one atomic step. The scripts use only the server's clock.
package redislock
