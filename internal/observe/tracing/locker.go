package tracing

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// Locker makes spans of lock, the time until the lock is held, and of unlock, which begins when
// what is done under the lock has returned. A lock that is left to its lease has no unlock.
func (t *Traces) Locker(l order.Locker) order.Locker {
	if t == nil {
		return l
	}
	return locker{l, t}
}

type locker struct {
	order.Locker
	t *Traces
}

func (l locker) Do(ctx context.Context, key string,
	work func(ctx context.Context, lease *lock.Lease) error, opts ...lock.Option,
) error {
	if !traced(ctx) {
		return l.Locker.Do(ctx, key, work, opts...)
	}
	_, acquire := l.t.step(ctx, "lock", client)
	held, unlock := false, trace.Span(nil)
	err := l.Locker.Do(ctx, key, func(inside context.Context, lease *lock.Lease) error {
		held = true
		end(acquire, nil)
		err := work(inside, lease)
		if !errors.Is(err, lock.ErrOutcomeUnknown) {
			_, unlock = l.t.step(ctx, "unlock", client)
		}
		return err
	}, opts...)
	if !held {
		end(acquire, err)
	}
	if unlock != nil {
		end(unlock, nil)
	}
	return err
}

// section is what a batch does inside its locks. The locks of a batch are known by their keys
// alone: whose traces they are in is what its placements say.
type section struct{ members []sectionMember }

type sectionMember struct {
	request context.Context //nolint:containedctx // it is the waiting request's
	key     string
}

type sectionKey struct{}

// enter notes the traced orders that are placed in the section of ctx.
func enter(ctx context.Context, all []*order.Attempt) {
	s, inside := ctx.Value(sectionKey{}).(*section)
	if !inside {
		return
	}
	for _, a := range all {
		if traced(a.Context) {
			s.members = append(s.members, sectionMember{a.Context, lock.UserKey(a.Order.UserID)})
		}
	}
}

func (l locker) DoMany(ctx context.Context, keys []string,
	work func(ctx context.Context, leases []*lock.Lease) []error, opts ...lock.Option,
) []error {
	var in section
	var held, unlocking time.Time
	began := time.Now()
	errs := l.Locker.DoMany(ctx, keys, func(ctx context.Context, leases []*lock.Lease) []error {
		held = time.Now()
		errs := work(context.WithValue(ctx, sectionKey{}, &in), leases)
		unlocking = time.Now()
		return errs
	}, opts...)
	ended := time.Now()
	for _, m := range in.members {
		l.t.past(m.request, "lock", began, held, nil)
		if at := slices.Index(keys, m.key); at < 0 || !errors.Is(errs[at], lock.ErrOutcomeUnknown) {
			l.t.past(m.request, "unlock", unlocking, ended, nil)
		}
	}
	return errs
}
