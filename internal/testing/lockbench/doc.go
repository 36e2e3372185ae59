// Command lockbench measures every lock of this program beside well-known ones, in one
// run, on private servers, and prints one table.
//
//	round 1   lock a: alone ─ 32 goroutines, 1 process ─ 32 goroutines, 4 processes
//	          lock b: …
//	round 2   the same again                    figures are the medians of the rounds
//
//	alone     two raw round trips, acquire + release, two raw round trips, …
//	          one after the other, so that both see the same machine
//
// A process is a Locker, or what the other library has in its place, with
// connections of its own. Every section asks a gate whether another is inside; one overlap
// and the command fails, whatever the speed was.
//
// Commands are counted where the server gets them: on the wire for Redis, by the
// server's own counter for the others. What a script calls inside Redis is no
// command here.
//
// It is a module of its own, because the locks it compares with are no part of the
// program and their requirements should not be either.
package main
