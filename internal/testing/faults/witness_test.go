package faults

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// leases grants every lock, each with a fence of its own.
type leases struct {
	lock.Backend
	fence uint64
}

func (l *leases) Acquire(context.Context, string, string, time.Duration) (lock.Grant, error) {
	l.fence++
	return lock.Grant{Fence: l.fence}, nil
}

func (l *leases) Release(context.Context, string, string) error { return nil }

func TestWhatIsDoneWithAUsersLockIsWatched(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(p *Points, b lock.Backend, write func(ctx context.Context, fence uint64, during func()) error)
		want map[string]int
	}{
		"written and then given back": {func(_ *Points, b lock.Backend, write func(context.Context, uint64, func()) error) {
			assert.NoError(t, write(t.Context(), 1, nil))
			assert.NoError(t, b.Release(t.Context(), "user:1", "token"))
		}, nil},
		"given back inside of the transaction": {func(_ *Points, b lock.Backend, write func(context.Context, uint64, func()) error) {
			assert.NoError(t, write(t.Context(), 1, func() { assert.NoError(t, b.Release(t.Context(), "user:1", "token")) }))
		}, map[string]int{earlyRelease: 1}},
		"written after it was given back": {func(_ *Points, b lock.Backend, write func(context.Context, uint64, func()) error) {
			assert.NoError(t, b.Release(t.Context(), "user:1", "token"))
			assert.NoError(t, write(t.Context(), 1, nil))
		}, map[string]int{lateWrite: 1}},
		"given back with the commit in doubt": {func(p *Points, b lock.Backend, write func(context.Context, uint64, func()) error) {
			p.Arm(Fault{Point: "commit.after", Action: Lose, Nth: 1})
			require.ErrorIs(t, write(t.Context(), 1, nil), order.ErrCommitUnknown)
			assert.NoError(t, b.Release(t.Context(), "user:1", "token"))
		}, map[string]int{earlyRelease: 1}},
		"given back when the doubt is over": {func(p *Points, b lock.Backend, write func(context.Context, uint64, func()) error) {
			p.Arm(Fault{Point: "commit.after", Action: Lose, Nth: 1})
			require.ErrorIs(t, write(t.Context(), 1, nil), order.ErrCommitUnknown)
			parts := p.Service(order.Deps{Orders: voids{}})
			require.ErrorIs(t, parts.Orders.Void(t.Context(), order.Order{Fence: 1}), order.ErrDuplicate)
			assert.NoError(t, b.Release(t.Context(), "user:1", "token"))
		}, nil},
		"two users have the same fence": {func(_ *Points, b lock.Backend, write func(context.Context, uint64, func()) error) {
			b.(backend).Backend.(*leases).fence = 0
			_, err := b.Acquire(t.Context(), "user:2", "another", time.Second)
			assert.NoError(t, err)
			assert.NoError(t, write(t.Context(), 1, func() { assert.NoError(t, b.Release(t.Context(), "user:2", "another")) }))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Points{}
			b := p.Backend(&leases{})
			_, err := b.Acquire(t.Context(), "user:1", "token", time.Second)
			require.NoError(t, err)
			tc.do(p, b, placements(p))
			assert.Equal(t, tc.want, p.State().Broken)
		})
	}
}

// placements writes an order as the committer does.
func placements(p *Points) func(ctx context.Context, fence uint64, during func()) error {
	return func(ctx context.Context, fence uint64, during func()) error {
		c := p.Service(order.Deps{Committer: commits(func(context.Context) {
			if during != nil {
				during()
			}
		})}).Committer
		a := &order.Attempt{Order: order.Order{UserID: 1, Fence: fence}}
		c.Place(ctx, []*order.Attempt{a})
		return a.Err
	}
}

// fenced is a store whose transactions and their fences succeed.
type fenced struct{ order.Tx }

func (f fenced) InTx(ctx context.Context, work func(context.Context, order.Tx) error) error {
	return work(ctx, f)
}

func (fenced) Fence(context.Context, int64, uint64) error { return nil }

// voids has an order for every request.
type voids struct{ order.Orders }

func (voids) Void(context.Context, order.Order) error { return order.ErrDuplicate }

func TestALockThatIsAskedForInsideOfATransactionIsNoticed(t *testing.T) {
	p := &Points{}
	var ask func(ctx context.Context) error
	parts := p.Service(order.Deps{Tx: fenced{}, Locker: free{}, Committer: commits(func(ctx context.Context) { _ = ask(ctx) })})
	ask = func(ctx context.Context) error {
		return parts.Locker.Do(ctx, "user:1", func(context.Context, *lock.Lease) error { return nil })
	}
	require.NoError(t, ask(t.Context()))
	require.Empty(t, p.State().Broken)
	require.NoError(t, parts.Tx.InTx(t.Context(), func(ctx context.Context, _ order.Tx) error { return ask(ctx) }))
	require.Equal(t, map[string]int{lockInside: 1}, p.State().Broken)
	parts.Committer.Place(t.Context(), []*order.Attempt{{}})
	require.Equal(t, map[string]int{lockInside: 2}, p.State().Broken)
}

// free is a locker whose locks are always free.
type free struct{ order.Locker }

func (free) Do(ctx context.Context, _ string, work func(context.Context, *lock.Lease) error, _ ...lock.Option) error {
	return work(ctx, nil)
}
