package order

import (
	"context"
	"time"
)

// A request has one budget, its deadline, and is to be answered by then whatever
// happens on the way. A part of it is kept for what decides the answer after the
// transaction:
//
//	├── reserve, lock, transaction ───────────┼─ decide ─┼─ finish ─┤ deadline
//	                                     work's deadline
//
// What goes wrong earlier leaves them more time, up to Parts.Cleanup each.

// shares is how many times cleanup may be needed one after the other.
const cleanups = 2

// share is what each of them has at least: an eighth of Parts.Cleanup.
func (s *Service) cleanupShare() time.Duration { return s.cleanupIn / 8 }

// work is the part of a request's budget in which an order is made.
func (s *Service) withWorkDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	until, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	// Of a short budget, cleaning up gets a quarter.
	return context.WithDeadline(ctx, until.Add(-min(cleanups*s.cleanupShare(), time.Until(until)/4)))
}

// cleanup is the context of what has to be done whether or not anybody still waits
// for the answer. ctx is work's.
func (s *Service) withCleanupDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	in := s.cleanupIn
	if until, bounded := ctx.Deadline(); bounded {
		in = min(in, max(0, time.Until(until))+s.cleanupShare())
	}
	return context.WithTimeout(context.WithoutCancel(ctx), in)
}
