package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

// Two audits have all connections for long reads, for minutes.
func TestEntrantIDs_AuditsHaveTheirConnections_Answers(t *testing.T) {
	s := onMariaDB(t)
	c := onSale(t, s, 5)
	_, err := s.MakeDraw(t.Context(), c.ID, []byte("seed"))
	require.NoError(t, err)
	_, err = s.Enter(t.Context(), order.Order{ID: 1, CouponID: c.ID, UserID: 7, RequestID: "r1", CreatedAt: begins})
	require.NoError(t, err)
	for range maxBulkConns {
		audit := s.bulk.WithContext(t.Context()).Begin()
		require.NoError(t, audit.Error)
		defer audit.Rollback()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	users, err := s.EntrantIDs(ctx, c.ID, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []int64{7}, users)
}

// An instance of version 19 names the columns that it knows.
func TestMigrate_DrawProgress_OldInstanceWritesDraws(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 5)
		raw(t, s, "INSERT INTO lottery_draws (coupon_id, seed, begun_at, ended_at, entrants, winners, last_rank) VALUES (?, '0a', NULL, NULL, 0, 0, '')", c.ID)
		d, err := s.Draw(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, []byte{10}, d.Seed)
		require.Zero(t, d.DecidedRanks)
		d.DecidedRanks = 256
		require.NoError(t, s.Advance(t.Context(), d), "the draw has not begun")
		again, err := s.Draw(t.Context(), c.ID)
		require.NoError(t, err)
		require.Zero(t, again.DecidedRanks)
		require.NoError(t, s.Begin(t.Context(), c.ID, begins))
		for _, settled := range []int{512, 256} {
			d.DecidedRanks = settled
			require.NoError(t, s.Advance(t.Context(), d))
		}
		again, err = s.Draw(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, 512, again.DecidedRanks, "it never goes back")
	})
}

func TestDraw_NoRow_IsNotFound(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		_, err := s.Draw(t.Context(), 1)
		require.ErrorIs(t, err, order.ErrNotFound)
	})
}
