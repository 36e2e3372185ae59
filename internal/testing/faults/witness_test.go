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

// leases grants every lock, each with a fence of its own. Only user 2 has the fence of the user before it.
type leases struct {
	lock.Backend
	lock.FenceAdvancer
	fence uint64
}

func (l *leases) Acquire(_ context.Context, key, _ string, _ time.Duration) (lock.Grant, error) {
	if key != "user:2" {
		l.fence++
	}
	return lock.Grant{Fence: l.fence}, nil
}

func (l *leases) Release(context.Context, string, string) error { return nil }

func TestWitness_UserLockMisused_CountsViolation(t *testing.T) {
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
			parts := p.Service(order.Deps{DB: voids{}})
			require.ErrorIs(t, parts.DB.Void(t.Context(), order.Order{Fence: 1}), order.ErrDuplicate)
			assert.NoError(t, b.Release(t.Context(), "user:1", "token"))
		}, nil},
		"two users have the same fence": {func(_ *Points, b lock.Backend, write func(context.Context, uint64, func()) error) {
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
		a := &order.Attempt{Order: order.Order{UserID: 1, Fence: fence}}
		p.hook(ctx, order.StepCommit, []*order.Attempt{a}, func(context.Context) {
			if during != nil {
				during()
			}
		})
		return a.Err
	}
}

// fenced is a store whose transactions succeed.
type fenced struct{ order.Database }

func (f fenced) InTx(ctx context.Context, work func(context.Context, order.Tx) error) error {
	return work(ctx, nil)
}

// voids has an order for every request.
type voids struct{ order.Database }

func (voids) Void(context.Context, order.Order) error { return order.ErrDuplicate }

func TestWitness_LockInsideTransaction_CountsViolation(t *testing.T) {
	p := &Points{}
	parts, one := p.Service(order.Deps{DB: fenced{}}), []*order.Attempt{{}}
	ask := func(ctx context.Context) { p.hook(ctx, order.StepLock, one, func(context.Context) {}) }
	ask(t.Context())
	require.Empty(t, p.State().Broken)
	require.NoError(t, parts.DB.InTx(t.Context(), func(ctx context.Context, _ order.Tx) error { ask(ctx); return nil }))
	require.Equal(t, map[string]int{lockInside: 1}, p.State().Broken)
	p.hook(t.Context(), order.StepCommit, one, ask)
	require.Equal(t, map[string]int{lockInside: 2}, p.State().Broken)
}
