// Package mysqlforms has two locks of MySQL and MariaDB that the program does not use. Package lockbench compares Named
// with mysqllock.LeaseRow, the lock that the program uses.
//
//	Named      a connection has a name          GET_LOCK            one connection for each key that is held
//	RowLock    a transaction has a row          SELECT … FOR UPDATE one transaction for each piece of work
//
//	          fence                        round trips            ends when
//	Named     none of its own: a row of    2 and 1, and one       its connection ends, or is silent
//	          the database, by a Fencer    for the fence          for the lease in whole seconds
//	RowLock   a row's counter, committed   4, of which one is a   the transaction ends
//	          before the work              commit, and the commit
//
// The program uses neither form. Both keep a connection while a key is held, and neither works behind a pooler that
// gives each statement another connection.
//
// After a failover every name is free, because servers do not replicate names. Another holder may then have the key,
// and the first holder does not know it until its next renewal. A name that is lost with its connection is free
// before its holder can hear of the loss. The holder hears of it within NamedOptions.Watch, or up to a second late if
// the server does not answer. A Named sends no messages, so a waiter asks again. A RowLock needs no messages, because
// the server wakes its waiters.
//
// The counter of RowLock is max(last + 1, the server's clock in microseconds). A row stays for each key that was ever
// locked, because its counter must not start again.
package mysqlforms
