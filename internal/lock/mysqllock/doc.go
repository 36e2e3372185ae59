// Package mysqllock keeps leases in MySQL or MariaDB.
//
//	LeaseRow   a row with an owner and an end      INSERT … ON DUPLICATE KEY UPDATE
//
// LeaseRow needs no connection while a key is held. It works behind a pooler that gives each statement another
// connection. An acquisition is one round trip with a durable commit, and so is a release. The fence is the row's
// counter. The lease ends by the server's clock.
//
// The counter is max(last + 1, the server's clock in microseconds). So the fences are larger than those of a lock
// that counted elsewhere before.
//
// The package does not promise that a lease survives a failover. If the new primary lags, a lease or a counter may be
// gone. Another holder may then have the key until the first holder hears of it at its next renewal. The fence in the
// data's own database keeps the two holders apart, if the data failed over with it. A server's clock that jumps ends
// leases early or late. The server sends no messages, so a waiter asks again.
//
// A row stays for every key that was ever locked, because its counter must not start again. Keys are compared byte by
// byte.
package mysqllock
