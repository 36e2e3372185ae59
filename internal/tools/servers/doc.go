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
// The package promises that a returned server has responded, and that it was this server and not another one on the
// port. It lives until it is stopped, or until the calling process dies
// in any way: then the kernel kills it. It can be killed, paused and started again on the same port
// with the same data. It does not promise that the port stays free while the server is down, nor data that outlive
// the machine.
//
// It is a package of its own because the tests, the benchmarks, the fault harness and the experiments all need such
// servers. None of these may import another.
//
// Linux supports everything. macOS starts MariaDB and Redis: there a server outlives a caller that
// was killed, and Pause returns before the server has stopped. Windows starts no server: every Start
// function returns a *MissingError that names the system.
package servers
