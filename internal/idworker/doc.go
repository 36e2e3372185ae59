// Package idworker makes order ids that are unique among all instances.
//
// No two ids are equal, not even across instances, restarts, pauses and clocks that go back,
// and each is a positive int64. It does not promise that ids of different instances are in
// the order of time to the millisecond.
//
//	63            22        12         0
//	 ├─ ms since Epoch ┼ worker ┼ count ┤   Snowflake: no call per id
//	63                32                0
//	 ├─ s since Epoch ──┼── today's nth ┤   Daily: one call to Redis per id
//
// A Snowflake is unique as long as no two living instances have the same worker
// number, and no moment is used twice under one number. Two lines of defence:
//
//	the lease   a number is a lock, worker:<n>; when it is lost, Next refuses
//	the mark    the moment up to which a holder may make ids (a high-water mark), written
//	            to Redis before it is used; the next holder starts after it
//
// The mark holds even for an instance that was stopped and does not know yet that its lease is
// over: it makes no id beyond its mark.
package idworker

import (
	"errors"
	"time"
)

// Epoch is the moment from which both kinds of ids count: the start of 2025,
// UTC. Changing it makes old and new ids collide. Milliseconds fit until 2094,
// seconds until 2093.
var Epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// Numbers is how many worker numbers there are. At most as many instances make ids at the same time.
const Numbers = 1024

// The errors of this package.
var (
	// ErrLeaseLost means that the worker number may belong to another instance by now. A
	// Snowflake is leasing another number in the background; try again shortly.
	ErrLeaseLost = errors.New("idworker: worker number lost")
	// ErrClockBack means that the clock is behind a moment that was used already.
	ErrClockBack = errors.New("idworker: clock went back")
	// ErrAllTaken means that every worker number is leased.
	ErrAllTaken = errors.New("idworker: all worker numbers are taken")
	// ErrClosed means that the Snowflake was closed.
	ErrClosed = errors.New("idworker: closed")
)
