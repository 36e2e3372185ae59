package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Interval is the time between two passes of Run.
const Interval = 100 * time.Millisecond

// maxDebits bounds a pass for each of the stripes of a Limiter; the others are next.
const maxDebits = 128

// Debit is what one client was allowed.
type Debit struct {
	Key       string
	N         int
	PerSecond int
	Burst     int
}

// Ledger keeps the buckets of all instances. *Redis implements it.
type Ledger interface {
	// Spend takes N requests from each bucket, also below zero, and returns what is left in each.
	Spend(ctx context.Context, debits []Debit) (left []float64, err error)
}

// Shared is a Limiter that instances have in common.
type Shared interface {
	Reconcile(ctx context.Context, ledger Ledger) error
}

// Run reconciles the limiters until ctx ends. While the ledger is away each instance keeps the limit by
// itself.
func Run(ctx context.Context, ledger Ledger, log *slog.Logger, limiters ...Shared) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, l := range limiters {
			if err := l.Reconcile(ctx, ledger); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "rate limits are counted by each instance for itself", "error", err)
			}
		}
	}
}

// debtor is a client whose debit is on its way.
type debtor[client comparable] struct {
	stripe *stripe[client]
	bucket *bucket
}

// Reconcile tells the ledger what clients were allowed here, and lowers their buckets to what it has left
// of them. What could not be told is forgotten.
func (l *Limiter[client]) Reconcile(ctx context.Context, ledger Ledger) error {
	if l == nil {
		return nil
	}
	debits, debtors := l.collect()
	if len(debits) == 0 {
		return nil
	}
	left, err := ledger.Spend(ctx, debits)
	if err != nil {
		return fmt.Errorf("ratelimit: tell what %d clients were allowed: %w", len(debits), err)
	}
	now := l.o.Now()
	for i, d := range debtors {
		d.stripe.mu.Lock()
		d.bucket.lower(now, left[i], l.o.Burst)
		d.stripe.mu.Unlock()
	}
	return nil
}

func (l *Limiter[client]) collect() (debits []Debit, debtors []debtor[client]) {
	for i := range l.stripes {
		s := &l.stripes[i]
		s.mu.Lock()
		n := 0
		for c, b := range s.due {
			if n++; n > maxDebits {
				break
			}
			debits = append(debits, Debit{Key: l.o.Key(c), N: b.spent, PerSecond: l.o.PerSecond, Burst: l.o.Burst})
			debtors = append(debtors, debtor[client]{s, b})
			b.spent, b.shared = 0, true
			delete(s.due, c)
		}
		s.mu.Unlock()
	}
	return debits, debtors
}

// lower takes from the bucket what other instances have allowed: what is here beyond what the ledger
// has left, less what was spent since it was told. It never raises a bucket: here as there it fills at the
// same rate.
func (b *bucket) lower(now time.Time, left float64, burst int) {
	b.shared = left < float64(burst-1)
	for more := int(b.TokensAt(now) - (left - float64(b.spent))); more > 0; more -= burst {
		b.ReserveN(now, min(more, burst))
	}
}
