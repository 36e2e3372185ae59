package order_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// faults fail steps of the order path, each once: "before insert" fails without the
// insert, "after insert" does it and loses the answer. A hook runs and fails nothing.
type faults struct {
	mu   sync.Mutex
	plan map[string]func()
	seen []string // the steps that were come to
}

func failing(steps ...string) *faults {
	f := &faults{plan: map[string]func(){}}
	for _, step := range steps {
		f.plan[step] = nil
	}
	return f
}

// plans adds a step that is to fail.
func (f *faults) plans(step string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan[step] = nil
}

// left lists what was planned and did not come to pass.
func (f *faults) left() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.plan))
}

func (f *faults) hit(step string) bool {
	f.mu.Lock()
	hook, planned := f.plan[step]
	delete(f.plan, step)
	f.seen = append(f.seen, step)
	f.mu.Unlock()
	if hook != nil {
		hook()
		return false
	}
	return planned
}

var errFault = errors.New("the test broke it")

// at does a step, or not, or does it and loses the answer.
func (f *faults) at(step string, fault error, do func() error) error {
	if f.hit("before " + step) {
		return fmt.Errorf("%w: %w", fault, errFault)
	}
	err := do()
	if err == nil && f.hit("after "+step) {
		return fmt.Errorf("%w: %w", fault, errFault)
	}
	return err
}

func (f *faults) store(step string, do func() error) error {
	return f.at(step, order.ErrUnavailable, do)
}

// into lays the faults over every part of a service.
func (f *faults) into(p *order.Deps) {
	p.Admission = faultyAdmission{p.Admission, f}
	p.Shards = faultyShards{p.Shards, f}
	p.Locker = faultyLocker{p.Locker, f}
	p.DB = faultyDatabase{p.DB, f}
	p.Committer = faultyCommitter{p.Committer, f}
	p.IDs = faultyIDs{p.IDs, f}
	if p.Queue != nil {
		p.Queue = faultyQueue{p.Queue, f}
	}
}

// faultyAdmission has no place for somebody, or lets in whom another lets in, or
// everybody if there is no other.
type faultyAdmission struct {
	order.Admission
	f *faults
}

func (a faultyAdmission) Admit(ctx context.Context) (func(bought bool), error) {
	if a.f.hit("before admit") {
		return nil, fmt.Errorf("%w: %w", order.ErrOverloaded, errFault)
	}
	leave := func(bool) {}
	if a.Admission != nil {
		var err error
		if leave, err = a.Admission.Admit(ctx); err != nil {
			return nil, err
		}
	}
	return func(bought bool) {
		a.f.hit(fmt.Sprintf("leave, bought: %t", bought))
		leave(bought)
	}, nil
}

type faultyQueue struct {
	order.Queue
	f *faults
}

func (q faultyQueue) Ack(ctx context.Context, e order.Entry) error {
	return q.f.store("done", func() error { return q.Queue.Ack(ctx, e) })
}

func (q faultyQueue) AckCommitted(ctx context.Context, entries []order.Entry) []error {
	return q.f.many("done", len(entries), order.ErrUnavailable, func() []error { return q.Queue.AckCommitted(ctx, entries) })
}

type faultyShards struct {
	order.Shards
	f *faults
}

func (s faultyShards) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	all := make([]order.Reservation, len(requests))
	errs := s.f.many("reserve", len(requests), order.ErrUnavailable, func() []error {
		all = s.Shards.Reserve(ctx, requests)
		errs := make([]error, len(all))
		for i, r := range all {
			errs[i] = r.Err
		}
		return errs
	})
	for i, err := range errs {
		all[i].Err = err
	}
	return all
}

func (s faultyShards) Confirm(ctx context.Context, holds []order.Hold) []error {
	return s.f.many("confirm", len(holds), order.ErrUnavailable, func() []error { return s.Shards.Confirm(ctx, holds) })
}

func (s faultyShards) Release(ctx context.Context, holds []order.Hold) []error {
	return s.f.many("release", len(holds), order.ErrUnavailable, func() []error { return s.Shards.Release(ctx, holds) })
}

func (s faultyShards) PutUnresolved(ctx context.Context, orders []order.Order) []error {
	return s.f.many("ticket", len(orders), order.ErrUnavailable, func() []error { return s.Shards.PutUnresolved(ctx, orders) })
}

func (s faultyShards) Unresolved(ctx context.Context, id int64) (o order.Order, err error) {
	err = s.f.store("read ticket", func() (err error) { o, err = s.Shards.Unresolved(ctx, id); return err })
	return o, err
}

func (s faultyShards) Restock(ctx context.Context, r order.Restock) error {
	return s.f.store("return", func() error { return s.Shards.Restock(ctx, r) })
}

type faultyIDs struct {
	order.IDs
	f *faults
}

func (i faultyIDs) Next(ctx context.Context) (id int64, err error) {
	err = i.f.store("id", func() (err error) { id, err = i.IDs.Next(ctx); return err })
	return id, err
}

// faultyLocker loses the answer to an acquisition, so that the key is held and nobody
// knows it, or the release.
type faultyLocker struct {
	order.Locker
	f *faults
}

func (l faultyLocker) Do(ctx context.Context, key string,
	work func(ctx context.Context, lease *lock.Lease) error, opts ...lock.Option,
) error {
	if l.f.hit("before lock") {
		return lock.ErrUnavailable
	}
	var result error
	err := l.Locker.Do(ctx, key, func(ctx context.Context, lease *lock.Lease) error {
		if l.f.hit("after lock") {
			result = lock.ErrUnavailable
			return lock.ErrOutcomeUnknown
		}
		result = work(ctx, lease)
		if l.f.hit("before unlock") {
			return lock.ErrOutcomeUnknown // the key stays
		}
		return result
	}, opts...)
	if errors.Is(err, lock.ErrOutcomeUnknown) {
		return result
	}
	return err
}
