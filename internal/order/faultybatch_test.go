package order_test

import (
	"context"
	"errors"
	"slices"

	"example.com/seckill/internal/lock"
)

// The faults of a step that is done once for many orders are those of the step for one,
// and concern all of them.

// many does a step for all, or not, or does it and loses the answer. each fails where
// its step has failed.
func (f *faults) many(step string, n int, fault error, do func() []error) []error {
	var errs []error
	if err := f.at(step, fault, func() error { errs = do(); return errors.Join(errs...) }); errors.Is(err, errFault) {
		return slices.Repeat([]error{err}, n)
	}
	return errs
}

// DoMany is Do for each of the keys.
func (l faultyLocker) DoMany(ctx context.Context, keys []string,
	work func(ctx context.Context, leases []*lock.Lease) []error, opts ...lock.Option,
) []error {
	if l.f.hit("before lock") {
		return slices.Repeat([]error{lock.ErrUnavailable}, len(keys))
	}
	var results []error
	errs := l.Locker.DoMany(ctx, keys, func(ctx context.Context, leases []*lock.Lease) []error {
		stay := slices.Repeat([]error{lock.ErrOutcomeUnknown}, len(keys))
		if l.f.hit("after lock") {
			results = slices.Repeat([]error{lock.ErrUnavailable}, len(keys))
			return stay
		}
		results = work(ctx, leases)
		if l.f.hit("before unlock") {
			return stay
		}
		return results
	}, opts...)
	for i, err := range errs {
		if errors.Is(err, lock.ErrOutcomeUnknown) {
			errs[i] = results[i]
		}
	}
	return errs
}
