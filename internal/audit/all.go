package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"example.com/seckill/internal/coupon"
)

// AtOnce is how many audits may run at once without waiting for each other: the store reads as many sales at a time.
const AtOnce = 2

// result is the result of the audit of a coupon.
type result struct {
	id     int64
	report Report
	err    error
}

// All prints a report of each coupon, in the order of the ids, and reports whether all are clean. It runs up to atOnce
// audits at a time, and keeps no more reports in memory. One coupon that cannot be audited is an error, and All audits
// the others all the same.
func All(
	ctx context.Context, out io.Writer, ids []int64, atOnce int,
	audit func(ctx context.Context, id int64) (Report, error), asJSON bool,
) (clean bool, err error) {
	within, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	results := make(chan chan result, atOnce-1) // one more is being awaited
	running.Go(func() {
		defer close(results)
		for _, id := range ids {
			one := make(chan result, 1)
			select {
			case results <- one:
			case <-within.Done():
				return
			}
			running.Go(func() {
				report, err := audit(within, id)
				one <- result{id, report, err}
			})
		}
	})
	clean = true
	for one := range results {
		r := <-one
		switch {
		case errors.Is(r.err, coupon.ErrNotFound):
			err = errors.Join(err, fmt.Errorf("coupon %d is not in the database", r.id))
			continue
		case r.err != nil:
			err = errors.Join(err, fmt.Errorf("coupon %d was not audited: %w", r.id, r.err))
			continue
		}
		clean = clean && r.report.Clean
		if err := r.report.Print(out, asJSON); err != nil {
			return false, err
		}
	}
	err = errors.Join(err, ctx.Err())
	return clean && err == nil, err
}
