package order_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// While the outcome of a commit is unknown, the buyer can poll the order. Its lock and its hold stay, and no other
// user gets the unit.
func TestDoubt_DatabaseDown_Stays(t *testing.T) {
	s := open(t)
	for name, tc := range map[string]struct {
		commit string
		live   int64
		ends   order.Status
	}{
		"it was committed":     {"after commit", 1, order.Pending},
		"it was not committed": {"before commit", 0, order.Void},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, shards, 1)
			user := last(c)
			f := failing(tc.commit, "before void")
			o, err := s.with(f.into).Place(t.Context(), wish(c, user, name))
			require.ErrorIs(t, err, order.ErrCommitUnknown)
			require.Equal(t, order.InDoubt, o.Status)
			require.NotZero(t, o.ID)
			require.Len(t, s.leases(t, user), 1, "the lock is not released")

			shown, err := s.with(func(p *order.Deps) { p.DB = hidden{p.DB} }).Get(t.Context(), o.ID, user)
			require.NoError(t, err, "no row tells yet: the ticket does")
			require.Equal(t, order.InDoubt, shown.Status)
			require.Equal(t, o.CreatedAt, shown.CreatedAt)
			_, err = s.Get(t.Context(), o.ID, user+1)
			require.ErrorIs(t, err, order.ErrNotFound, "somebody else's doubt")

			n, err := s.Reconcile(t.Context(), c, 0)
			require.NoError(t, err)
			require.Zero(t, n, "as long as the lock is held the hold is left alone")
			s.runOut(t, user)
			s.settled(t, c, tc.live)
			shown, err = s.Get(t.Context(), o.ID, user)
			require.NoError(t, err)
			require.Equal(t, tc.ends, shown.Status)
		})
	}
}

// hidden are orders without a visible row.
type hidden struct{ order.Database }

func (hidden) Get(context.Context, int64, int64) (order.Order, error) {
	return order.Order{}, order.ErrNotFound
}

func (hidden) ByRequest(context.Context, string, int64) (order.Order, error) {
	return order.Order{}, order.ErrNotFound
}

// That Redis does not answer says nothing about the order: not found would be a lie.
func TestDoubt_Unreadable_IsNotReportedAsNotFound(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	o, err := s.with(failing("before commit", "before void").into).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrCommitUnknown)
	_, err = s.with(failing("before read ticket").into).Get(t.Context(), o.ID, 7)
	require.ErrorIs(t, err, order.ErrUnavailable)
	require.NotErrorIs(t, err, order.ErrNotFound)
}

// Redis forgot the request, so the repeated one held a second unit under another id,
// and then the first order could not be read. The ticket leads to that order.
func TestDoubt_RequestHadAnOrder_FindsIt(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 3)
	first := s.buy(t, c, 7, "k")
	s.flush(t)
	c = s.reload(t, c)
	doubtful, err := s.with(failing("before read request").into).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrCommitUnknown)
	require.NotEqual(t, first.ID, doubtful.ID)
	s.runOut(t, 7)
	s.settled(t, c, 1)
	found, err := s.Get(t.Context(), doubtful.ID, 7)
	require.NoError(t, err)
	require.Equal(t, first, found)
}

// The shards were loaded again, so there is no hold that the reconciler would find.
func TestDoubt_HoldGone_Ends(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	o, err := s.with(failing("before commit", "before void").into).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrCommitUnknown)
	c = s.reload(t, c)
	s.runOut(t, 7)
	shown, err := s.Get(t.Context(), o.ID, 7)
	require.NoError(t, err)
	require.Equal(t, order.InDoubt, shown.Status, "the commit may be slow")
	later := s.with(func(p *order.Deps) {
		p.Now = func() time.Time { return o.CreatedAt.Add(30 * time.Second) }
	})
	for range 2 {
		shown, err = later.Get(t.Context(), o.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Void, shown.Status)
	}
	_, err = s.Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrVoided, "it never becomes an order")
	s.atRest(t, c, 0)
}

// The reconciler was faster: an order that it gave up can never be sold.
func TestDoubt_RequestAbandoned_NeverBecomesAnOrder(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	f := &faults{plan: map[string]func(){"after reserve": func() {
		n, err := s.Reconcile(t.Context(), c, 0)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}}}
	_, err := s.with(f.into).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrVoided)
	s.atRest(t, c, 0)
	for range 2 {
		_, err = s.Place(t.Context(), wish(c, 7, "k"))
		require.ErrorIs(t, err, order.ErrVoided, "the same answer each time")
	}
	mine, err := s.List(t.Context(), 7, 0, 10)
	require.NoError(t, err)
	require.Empty(t, mine, "it is no order")
	s.buy(t, c, 7, "another key")
	s.atRest(t, c, 1)
}

func TestPlace_TwoRequestsWithOneID_ShareNoOrder(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 2)
	first := s.buy(t, c, 7, "")
	again := s.with(func(p *order.Deps) { p.IDs = &ids{} })
	_, err := again.Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrUnavailable, "id %d was given twice", first.ID)
	s.atRest(t, c, 1)

	// Two users may get the same id. Orders are identified by id and user, so that they can be partitioned by user.
	// Ids are made unique, and the audit checks them.
	again = s.with(func(p *order.Deps) { p.IDs = &ids{} })
	theirs, err := again.Place(t.Context(), wish(c, 8, "k"))
	require.NoError(t, err)
	require.Equal(t, first.ID, theirs.ID)
	_, err = s.Pay(t.Context(), first.ID, 7)
	require.NoError(t, err)
	theirs, err = s.Get(t.Context(), first.ID, 8)
	require.NoError(t, err)
	require.Equal(t, order.Pending, theirs.Status, "it was the other's that was paid")
	r, err := s.auditor.Audit(t.Context(), c.ID)
	require.NoError(t, err)
	require.Len(t, r.Violations, 1)
	require.Contains(t, r.Violations[0], "I8: ")
}

// A holder who is too late gets the error in time, and its transaction rolls back.
func TestDoubt_LeaseLostInTransaction_SellsNothing(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	_, err := s.with(func(p *order.Deps) { p.Locker = losing{p.Locker} }).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrUnavailable)
	s.atRest(t, c, 0)
}

// losing loses every lease before the work has begun.
type losing struct{ order.Locker }

func (l losing) Do(ctx context.Context, key string, work func(context.Context, *lock.Lease) error, opts ...lock.Option) error {
	return l.Locker.Do(ctx, key, func(ctx context.Context, lease *lock.Lease) error {
		ctx, lose := context.WithCancelCause(ctx)
		lose(lock.ErrLost)
		return work(ctx, lease)
	}, opts...)
}

func (l losing) DoMany(ctx context.Context, keys []string, work func(context.Context, []*lock.Lease) []error, opts ...lock.Option) []error {
	return l.Locker.DoMany(ctx, keys, func(ctx context.Context, leases []*lock.Lease) []error {
		ctx, lose := context.WithCancelCause(ctx)
		lose(lock.ErrLost)
		return work(ctx, leases)
	}, opts...)
}

// The cleanups of a request that is over have their own time.
func TestCleanup_Request_IsBounded(t *testing.T) { onEach(t, cleanUpIsBounded) }

func cleanUpIsBounded(t *testing.T, s *shop) {
	c := s.sell(t, shards, 1)
	stuck := stuckStock{s.stock, t}
	o, err := s.with(func(p *order.Deps) { p.Shards, p.Cleanup = stuck, time.Millisecond }).Place(t.Context(), wish(c, 7, ""))
	require.NoError(t, err, "a confirmation that does not come is the reconciler's work")
	require.NotZero(t, o.ID)
	s.settled(t, c, 1)
}

// stuckStock confirms nothing until its context ends.
type stuckStock struct {
	order.Shards
	t *testing.T
}

func (s stuckStock) Confirm(ctx context.Context, holds []order.Hold) []error {
	select {
	case <-ctx.Done():
	case <-time.After(patient):
		s.t.Error("nobody ended it")
	}
	return slices.Repeat([]error{errors.Join(order.ErrUnavailable, ctx.Err())}, len(holds))
}

// The request ended in a refusal, so its ticket does too.
func TestDoubt_RequestCanNeverSucceed_IsVoid(t *testing.T) {
	s := open(t)
	for name, given := range map[string]func(t *testing.T, c coupon.Coupon, key string){
		"the key was another coupon's": func(t *testing.T, _ coupon.Coupon, key string) {
			s.buy(t, s.sell(t, shards, 1), 7, key)
		},
		"it was given up": func(t *testing.T, c coupon.Coupon, key string) {
			_, err := s.with(failing("before commit").into).Place(t.Context(), wish(c, 7, key))
			require.ErrorIs(t, err, order.ErrVoided)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, shards, 1)
			given(t, c, name)
			doubtful, err := s.with(failing("before read request").into).Place(t.Context(), wish(c, 7, name))
			require.ErrorIs(t, err, order.ErrCommitUnknown)
			s.runOut(t, 7)
			s.settled(t, c, 0)
			o, err := s.Get(t.Context(), doubtful.ID, 7)
			require.NoError(t, err)
			require.Equal(t, order.Void, o.Status)
		})
	}
}
