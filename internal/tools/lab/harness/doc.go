// Package harness runs experiments. Actors do the work of an application one step at a time, in an order
// that the experiment defines.
//
//	experiment ─▶ case (wrong, or right) ─▶ Run
//	                 actors    the code of two or three processes, in steps
//	                 rules     what must hold, asked after every step
//	                 schedule  whose turn it is, and up to which step
//	              ─▶ timeline and numbers, plain data that can be encoded as JSON
//
// Only one actor runs at a time. Its turn ends before the step that the schedule names, or at the end of
// its script. It also ends when the server reports that its step waits for another actor's. Some waiting
// actors can go on after a turn. The next turn begins when each of them has come to its next step.
//
// So a case is deterministic at any load of the machine: it does not sleep and depends on no race. An
// experiment does not claim where its anomaly is. The anomaly is the first step after which a rule does not
// hold.
//
// The package does not promise that the times in a timeline say anything about speed: the harness queries
// the servers after each step.
package harness
