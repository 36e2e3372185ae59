// Package bench measures how fast the program is, and refuses to call anything a
// speed whose audit is not clean.
//
//	MariaDB, every commit durable ─┐
//	Redis ─────────────────────────┼─▶ the program, as it is shipped ◀── one crowd (rush)
//	                               │   a bare gin route             ◀── the same crowd
//	for each round:                │
//	  for each path:  new database, empty Redis, new process ─▶ warm up ─▶ │ the crowd │ ─▶ audit
//	                                                             counters ─┴─ counters
//
// Every path takes its turn in every round, so that whatever else the machine does
// meets all of them; what is printed is the median of the rounds, and a ratio is the
// median of the ratios of each round. What was asked, accepted, refused and committed
// stand in columns of their own and are never added up.
//
// What it does not promise: that a figure holds elsewhere. The generator, the program
// and its servers share one machine, and a machine that does something else at the
// same time measures that. So the machine, its load, the versions and the durability
// of the database are printed with every table.
//
// It is a room of its own because it needs the program as a process, the servers and
// the crowd at once, and nothing of the program's inside.
package bench
