// Package bench measures how fast the program is, and accepts no speed whose audit is not clean.
//
//	MariaDB, every commit durable ─┐
//	Redis ─────────────────────────┼─▶ the program, as it is shipped ◀── one workload (rush)
//	                               │   a bare gin route             ◀── the same workload
//	for each round:                │
//	  for each path:  new database, empty Redis, new process ─▶ warm up ─▶ │ workload │ ─▶ audit
//	                                                             counters ─┴─ counters
//
// Every path runs in every round, so that other load on the machine affects all paths. The baseline route runs
// before and after each of the other paths. A ratio to it uses the mean of these two runs.
//
// A path that makes no orders costs little more than the baseline route. The path and the baseline route
// therefore run interleaved within a round, and the figure of the round is the median of the parts. The report
// prints the median of the rounds. A ratio in the report is the median of the ratios of the rounds. Requests,
// orders, rejections and commits have separate columns, and the report never adds them up.
//
// The package does not promise that a figure holds on another machine. The generator, the program and its
// servers share one machine, and the figures include other load on it. So every table comes with the machine,
// its load, the versions and the durability of the database.
//
// The package is separate because it needs the program as a process, the servers and the workload together, and
// no code inside the program.
package bench
