package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

// watch lets each statement of the lookups be looked at before it is sent, and after.
func watch(s *subject, before, after func(of []*orderQuery)) {
	read := s.byID.read
	s.byID.read = func(ctx context.Context, of []*orderQuery) ([]orderRow, error) {
		before(of)
		rows, err := read(ctx, of)
		after(of)
		return rows, err
	}
}

func nothing([]*orderQuery) {}

// asking starts a Get and returns when it waits for a statement.
func asking(t *testing.T, s *subject, ctx context.Context, id, user int64) (answer func() (order.Order, error)) {
	t.Helper()
	waiting := func() int {
		n, _ := s.byID.queries.Standing()
		return n
	}
	before, done := waiting(), make(chan struct{})
	var o order.Order
	var err error
	go func() {
		defer close(done)
		o, err = s.Get(ctx, id, user)
	}()
	require.Eventually(t, func() bool { return waiting() > before }, patient, time.Millisecond)
	return func() (order.Order, error) {
		<-done
		return o, err
	}
}

// slow keeps the first statement from being sent, or from being answered, until it is let.
func slow() (wait func(of []*orderQuery), begun <-chan struct{}, let func()) {
	at, gate := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	return func([]*orderQuery) {
		if first.CompareAndSwap(false, true) {
			close(at)
			<-gate
		}
	}, at, sync.OnceFunc(func() { close(gate) })
}

func TestOrderLoader_ConcurrentCallers_ShareReadAndGetTheirOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 20)
		mine, yours := placed(t, s, c, 1, 1), placed(t, s, c, 2, 2)
		wait, begun, let := slow()
		var sizes []int
		watch(s, func(of []*orderQuery) { wait(of); sizes = append(sizes, len(of)) }, nothing)
		s.byID.gather(1)
		first := make(chan error)
		go func() { _, err := s.Get(t.Context(), 1, 1); first <- err }()
		<-begun
		a, b := asking(t, s, t.Context(), 1, 1), asking(t, s, t.Context(), 2, 2)
		another, unknown := asking(t, s, t.Context(), 1, 2), asking(t, s, t.Context(), 9, 1)
		left, leave := context.WithCancel(t.Context())
		gone := asking(t, s, left, 2, 2)
		leave()
		_, err := gone()
		require.ErrorIs(t, err, context.Canceled, "who leaves waits for nobody")
		let()
		require.NoError(t, <-first)
		o, err := a()
		require.NoError(t, err)
		require.Equal(t, mine, o)
		o, err = b()
		require.NoError(t, err)
		require.Equal(t, yours, o)
		_, err = another()
		require.ErrorIs(t, err, order.ErrNotFound, "somebody else's")
		_, err = unknown()
		require.ErrorIs(t, err, order.ErrNotFound)
		require.Equal(t, []int{1, 5}, sizes)
	})
}

// Whoever has seen a commit must see it here: an answer from a statement that had begun
// before would be older than what he knows.
func TestOrderLoader_ReadAlreadyStarted_ExcludesLaterCallers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 20)
		wait, begun, let := slow()
		watch(s, nothing, wait)
		s.byID.gather(1)
		early := make(chan error)
		go func() { _, err := s.Get(t.Context(), 1, 1); early <- err }()
		<-begun
		require.NoError(t, place(t.Context(), s, c, wish(c, 1, 1)))
		late := asking(t, s, t.Context(), 1, 1)
		let()
		require.ErrorIs(t, <-early, order.ErrNotFound)
		o, err := late()
		require.NoError(t, err)
		require.Equal(t, int64(1), o.ID)
	})
}

func TestOrderLoader_StatementHangs_OtherReadsProceed(t *testing.T) {
	s := onMariaDB(t)
	placed(t, s, onSale(t, s, 20), 1, 1)
	wait, begun, let := slow()
	defer let()
	watch(s, wait, nothing)
	hung := make(chan error, 1)
	go func() { _, err := s.Get(t.Context(), 9, 9); hung <- err }()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), patient/2)
	defer cancel()
	for range maxReads { // each is served, and not only the next one
		_, err := s.Get(ctx, 1, 1)
		require.NoError(t, err)
	}
	let()
	require.ErrorIs(t, <-hung, order.ErrNotFound)
}

func TestOrderLoader_StatementFails_FailsForAllCallers(t *testing.T) {
	s := onMariaDB(t)
	placed(t, s, onSale(t, s, 20), 1, 1)
	away := errors.New("away")
	read, failing := s.byID.read, true
	s.byID.read = func(ctx context.Context, of []*orderQuery) ([]orderRow, error) {
		if failing {
			return nil, away
		}
		return read(ctx, of)
	}
	_, err := s.Get(t.Context(), 1, 1)
	require.ErrorIs(t, err, away, "and it is not called not found")
	failing = false
	_, err = s.Get(t.Context(), 1, 1)
	require.NoError(t, err)
}

func TestOrderLoader_LookupPanics_CallersGetError(t *testing.T) {
	s := onMariaDB(t)
	c := onSale(t, s, 10)
	o := placed(t, s, c, 1, 1)
	watch(s, func([]*orderQuery) { panic("of one query") }, nothing)
	_, err := s.Get(t.Context(), o.ID, o.UserID)
	require.ErrorContains(t, err, "of one query")
	watch(s, nothing, nothing)
}
