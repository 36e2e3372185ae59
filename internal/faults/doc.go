// Package faults breaks an instance at a chosen place of the order path, so that
// what must then hold can be seen to hold.
//
// A point is the name of a place. Every step of the path has up to three of them,
// and each is crossed when a request, or the background work, comes along:
//
//	reserve.before ─▶ [ reserve: the call, with reserve.during in it ] ─▶ reserve.after
//
// A fault is a point, an action and the number of the pass at which it strikes:
//
//	commit.after:kill:17       kill -9 of this process, 17 orders being committed
//	reserve.after:lose:3/10    at the 3rd pass and every 10th from there, the reply is lost
//
// Points are put in as decorators around the interfaces that package order depends
// on, and around the lock's backend. They are in the program only if it was built
// with the tag faults: nothing but the file of cmd/seckill that has this tag imports
// this package. No line of the order path knows of it.
//
// What it does not promise: that the moment of a fault "during" a step is the same
// twice. It strikes within two milliseconds from the step's beginning, which may be
// before, in or just after the server's work.
package faults
