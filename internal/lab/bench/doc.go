// Package bench is where experiments are played: actors that do what an application
// does, one step at a time, in an order that the experiment writes down.
//
//	experiment ─▶ case (wrong, or right) ─▶ Bench
//	                 actors    the code of two or three processes, in steps
//	                 rules     what must hold, asked after every step
//	                 schedule  whose turn it is, and up to which step
//	              ─▶ timeline and numbers, plain data that can be given as JSON
//
// Only one actor moves at a time. Its turn ends before the step that the schedule
// names, at its end, or when the server says that its step waits for another's; and
// before anything else moves, whoever was waiting and no longer is has gone on. So
// the same thing happens every time, whatever the machine is doing: there is no sleep
// and no luck in it. The moment of an anomaly is not claimed by the experiment: it is
// the first step after which a rule does not hold.
//
// What is not promised: that the times in a timeline say anything about speed. Each
// step is followed by questions to the servers.
package bench
