// Package servers starts real servers: private ones, on free ports of the
// loopback address, with their data in a folder that the caller names.
//
//	StartMariaDB ── one MariaDB, every commit durable
//	StartRedis ──── one Redis, empty, or with a log that survives a kill
//	StartCluster ── six of them: 3 masters, each with a replica
//	StartSentinel ─ a master, two replicas and three sentinels
//	StartEtcd ───── one etcd, every write durable
//	StartZooKeeper ─ one ZooKeeper
//
//	caller ──▶ Process ──▶ forker, one goroutine on one thread ──▶ server
//	                       (the thread ends ─▶ the kernel kills the server)
//
// What is promised: a server that was returned has responded, and it was this one and not another
// that happened to take the port. It lives until it is stopped, or until the calling process dies
// in any way: then the kernel kills it. It can be killed, paused and started again on the same port
// with the same data. What is not promised: that its port stays free while the server is down, and
// data that outlive the machine.
//
// It is a package of its own because the tests, the benchmarks, the fault harness and the
// experiments all need servers that may be killed, and none of these may import another.
//
// Linux supports everything. macOS starts MariaDB and Redis: there a server outlives a caller that
// was killed, and Pause returns before the server has stopped. Windows starts no server: every Start
// function returns a *MissingError that names the system.
package servers
