package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Interval is the time between two passes of Run.
const Interval = 100 * time.Millisecond

// maxDebits bounds the debits of a pass for each stripe of a Limiter. The other debits wait for the next
// pass.
const maxDebits = 128

// Debit is the number of requests that one client was allowed.
type Debit struct {
	Key       string
	N         int
	PerSecond int
	Burst     int
}

// Ledger keeps the buckets of all instances. *Redis implements it.
type Ledger interface {
	// Spend takes N requests from each bucket and returns the rest of each. A bucket may go below zero.
	Spend(ctx context.Context, debits []Debit) (left []float64, err error)
}

// Shared is a Limiter that instances share.
type Shared interface {
	Reconcile(ctx context.Context, ledger Ledger) error
}

// Run reconciles the limiters until ctx ends. While the ledger is unavailable, each instance keeps the
// limit by itself.
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

// debtor is a client with a debit on its way to the ledger.
type debtor[client comparable] struct {
	stripe *stripe[client]
	bucket *bucket
}

// Reconcile sends the ledger the requests that clients were allowed here. It then lowers the clients'
// buckets to the ledger's. If the ledger returns an error, Reconcile forgets the requests of this pass.
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

// lower takes from the bucket the requests that other instances have allowed. The bucket should hold the
// ledger's rest, less the requests that were allowed here since the debit. lower takes the excess. It never
// raises a bucket: the buckets here and in the ledger fill at the same rate.
func (b *bucket) lower(now time.Time, left float64, burst int) {
	b.shared = left < float64(burst-1)
	for more := int(b.TokensAt(now) - (left - float64(b.spent))); more > 0; more -= burst {
		b.ReserveN(now, min(more, burst))
	}
}
