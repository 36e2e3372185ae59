package order_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

// silent are stores of which nobody answers after a commit that failed.
type silent struct{ order.Database }

func (silent) Place(_ context.Context, all []*order.Attempt) { all[0].Err = order.ErrCommitUnknown }

func (silent) Void(ctx context.Context, _ order.Order) error { return forever(ctx) }

// silentShards keep no unresolved order.
type silentShards struct{ order.Shards }

func (silentShards) PutUnresolved(ctx context.Context, orders []order.Order) []error {
	return slices.Repeat([]error{forever(ctx)}, len(orders))
}

func forever(ctx context.Context) error {
	<-ctx.Done()
	return order.ErrUnavailable
}

func (silent) Held(int64) bool { return false }

// slow is a commit that uses up whatever it is given.
type slow struct{}

func (slow) Place(ctx context.Context, all []*order.Attempt) {
	<-ctx.Done()
	all[0].Err = order.ErrCommitUnknown
}

func (slow) Held(int64) bool { return false }

func TestPlace_Budget_AnswersInTime(t *testing.T) {
	s := open(t)
	for name, commit := range map[string]order.Committer{"after a failed commit": silent{}, "after a late one": slow{}} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, 2, 1)
			const budget = 2 * time.Second
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			defer cancel()
			began := time.Now()
			o, err := s.with(func(p *order.Deps) {
				p.Committer, p.DB, p.Shards, p.Cleanup = commit, silent{p.DB}, silentShards{p.Shards}, 1500*time.Millisecond
			}).Place(ctx, wish(c, 7, ""))
			took := time.Since(began)
			require.ErrorIs(t, err, order.ErrCommitUnknown)
			require.Equal(t, order.InDoubt, o.Status)
			require.Less(t, took, budget+250*time.Millisecond)
			require.Greater(t, took, budget/2, "it is asked for as long as there is time")
			s.runOut(t, 7)
			s.settled(t, c, 0)
		})
	}
}
