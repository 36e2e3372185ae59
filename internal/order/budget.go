package order

import (
	"context"
	"time"
)

// A request has one budget, its deadline, and must be answered by then whatever happens on
// the way. A part of it is reserved for what decides the answer after the transaction:
//
//	├── reserve, lock, transaction ──────────┼─ resolveOutcome ─┼─ closeHold ─┤ deadline
//	                                   work deadline
//
// If the work ends earlier, they have more time, up to Parts.Cleanup each.

// cleanups is how many cleanups may follow each other.
const cleanups = 2

// cleanupShare is the time that each of them has at least: an eighth of Parts.Cleanup.
func (s *Service) cleanupShare() time.Duration { return s.cleanupIn / 8 }

// withWorkDeadline returns the context in which an order is made: it ends early enough to
// leave time for the cleanups.
func (s *Service) withWorkDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	until, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	// Of a short budget, cleaning up gets a quarter.
	return context.WithDeadline(ctx, until.Add(-min(cleanups*s.cleanupShare(), time.Until(until)/4)))
}

// withCleanupDeadline returns the context of what must be done even if the client is gone.
// ctx is that of withWorkDeadline.
func (s *Service) withCleanupDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	in := s.cleanupIn
	if until, bounded := ctx.Deadline(); bounded {
		in = min(in, max(0, time.Until(until))+s.cleanupShare())
	}
	return context.WithTimeout(context.WithoutCancel(ctx), in)
}
