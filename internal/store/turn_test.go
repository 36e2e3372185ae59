package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func TestCommitter_NoTurnWithinTheBudget_RefusesTheOrder(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	c := onSale(t, h.subject, 100)
	h.g.turns <- struct{}{} // another transaction is in progress
	h.txTimeout = time.Millisecond
	require.ErrorIs(t, place(t.Context(), h.subject, c, wish(c, 1, 1)), order.ErrUnavailable)
	h.txTimeout = patient
	<-h.g.turns
	placed(t, h.subject, c, 2, 2)
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{99, 1}, []int64{stock, live})
}

func TestCommitter_RequestEndsBeforeItsTurn_WritesNothing(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	c := onSale(t, h.subject, 100)
	h.g.turns <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, place(ctx, h.subject, c, wish(c, 1, 1)), context.DeadlineExceeded)
	<-h.g.turns
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{100, 0}, []int64{stock, live})
}

func TestCommitter_TwoAtOnce_NeitherWaitsForTheOther(t *testing.T) {
	s, g := onMariaDB(t).grouped(CommitOptions{AtOnce: 2})
	c, other := onSale(t, s, 10), onSale(t, s, 10)
	g.turns <- struct{}{}
	require.NoError(t, place(t.Context(), s, c, wish(c, 1, 1)))
	require.NoError(t, place(t.Context(), s, other, wish(other, 2, 2)))
	<-g.turns
}
