// Package faults breaks an instance at a chosen place of the order path, to show what holds
// nevertheless.
//
// A point is the name of a place. Every step of the path has up to three of them, and each is
// crossed when a request, or the background work, passes:
//
//	reserve.before ─▶ [ reserve: the call, with reserve.during in it ] ─▶ reserve.after
//
// A fault is a point, an action and the number of the pass at which it strikes:
//
//	commit.after:kill:17       kill -9 of this process, 17 orders being committed
//	reserve.after:lose:3/10    at the 3rd pass and every 10th from there, the reply is lost
//
// The points of an order's steps are in a hook that package order calls around each step. The others are decorators
// around the interfaces of the background work and of the queue, and around the lock's backend. They are in the program
// only if it was built with the tag faults: only files with that tag import this package, and the order path does not
// know it.
//
// The package does not promise that a fault "during" a step strikes at the same moment twice. It strikes
// within two milliseconds of the step's beginning, which may be before, during or just after the
// server's work.
package faults
