// Package mysqllock locks by means of MySQL or MariaDB, in three forms.
//
//	LeaseRow   a row with an owner and an end      INSERT … ON DUPLICATE KEY UPDATE
//	           ── nothing is held open ──          the one behind lock.backend: mysql
//	Named      a name that a connection has        GET_LOCK
//	           ── a connection per key ──          a pool of its own, watched
//	RowLock    a row that a transaction has        SELECT … FOR UPDATE
//	           ── a transaction per work ──        no lease, and no lock.Backend
//
// LeaseRow is the one to configure: it is the only form that behaves the same behind
// a pooler, which may give each statement another connection, and the only one that
// needs no connection while a key is held.
//
//	          fence                        round trips            ends when
//	LeaseRow  the row's counter            1 and 1, each with     the server's clock says so
//	                                       a durable commit
//	Named     none of its own: a row of    2 and 1, and one       its connection does, or is silent
//	          the database, by a Fencer    for the fence          for the lease in whole seconds
//	RowLock   a row's counter, committed   4, of which one is a   the transaction does
//	          before the work              commit, and the commit
//
// The counters are max(last + 1, the server's clock in microseconds): larger than
// those of a lock that counted elsewhere before.
//
// What is not promised. After a failover to a replica that lags, a grant may be gone:
// a lease or a counter if it was not replicated, a name always, because names are not
// replicated at all. Another may then hold the key beside the old holder, until that
// one hears of it at its next renewal; the fence in the data's own database keeps
// them apart, if the data failed over with it. A server's clock that jumps ends
// leases early or late. A name that is lost with its connection is free before its
// holder can hear of it, which takes up to NamedOptions.Watch. No form sends
// messages: a waiter asks again, except with RowLock, whose waiters the server wakes.
//
// A row stays for every key that was ever locked, because its counter may not start
// again. Keys are compared byte by byte.
package mysqllock
