// Package bench measures how fast the program is, and accepts no speed whose audit is not clean.
//
//	MariaDB, every commit durable ─┐
//	Redis ─────────────────────────┼─▶ the program, as it is shipped ◀── one workload (rush)
//	                               │   a bare gin route             ◀── the same workload
//	for each round:                │
//	  for each path:  new database, empty Redis, new process ─▶ warm up ─▶ │ workload │ ─▶ audit
//	                                                             counters ─┴─ counters
//
// Every path runs in every round, so that other load on the machine meets all of them, and the bare
// route before and after each of the others: a ratio to it is one to the mean of both. A path that
// makes no orders costs little more than that, so both take turns within the round, and the round is
// the median of those. What is printed is the median of the rounds, and a ratio is the median of the
// ratios of each round.
// Requests, orders, refusals and commits have columns of their own and are never added up.
//
// What is not promised: that a figure holds elsewhere. The generator, the program and its servers
// share one machine, and other load on it is measured too. So the machine, its load, the versions
// and the durability of the database are printed with every table.
//
// It is a package of its own because it needs the program as a process, the servers and the
// workload at once, and nothing inside the program.
package bench
