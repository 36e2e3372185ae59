package order_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// abandoned leaves the hold of an instance that died after a step.
func (s *shop) abandoned(t *testing.T, c coupon.Coupon, user int64, steps ...string) {
	t.Helper()
	f := failing(steps...)
	_, _ = s.with(f.into).Place(t.Context(), wish(c, user, ""))
	require.Empty(t, f.left())
	s.runOut(t, user)
}

func TestReconcile_SeveralAtOnce_EndEachHoldOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 13, 1)
		for user := range int64(12) {
			if user%2 == 0 {
				s.abandoned(t, c, user, "after reserve")
			} else {
				s.abandoned(t, c, user, "before confirm")
			}
		}
		reconcilers := []*order.Reconciler{
			s.Reconciler, // one that is told "held", and one that waits
			s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Locker = s.locker(t, patient) }),
			s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Locker = admitAll{} }),
		}
		for _, a := range together(6, func(i int) (order.Order, error) {
			_, err := reconcilers[i%3].Reconcile(t.Context(), c, 0)
			return order.Order{}, err
		}) {
			require.NoError(t, a.err)
		}
		s.settled(t, c, 6)
	})
}

func TestReconcile_HoldYoungOrRequestInProgress_IsKept(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	s.abandoned(t, c, 8, "after reserve")
	n, err := s.Reconcile(t.Context(), c, time.Hour)
	require.NoError(t, err)
	require.Zero(t, n, "young")

	f := &faults{plan: map[string]func(){"before begin": func() {
		n, err := s.Reconcile(t.Context(), c, 0)
		require.NoError(t, err)
		require.Equal(t, 1, n, "user 8's alone")
	}}}
	_, err = s.with(f.into).Place(t.Context(), wish(c, 7, ""))
	require.NoError(t, err)
	s.atRest(t, c, 1)
}

// Two attempts of one request share a hold. Whichever ends first, the unit is given
// back only when neither can sell it.
func TestReserve_AttemptsOfOneRequest_ShareItsUnit(t *testing.T) {
	s := openSingle(t)
	for name, tc := range map[string]struct{ first, second string }{
		"both go on":               {"", ""},
		"the second fails":         {"", "before insert"},
		"the first fails":          {"before insert", ""},
		"the second's answer lost": {"", "after commit"},
		"the first's answer lost":  {"after commit", ""},
		"the second is given up":   {"", "before commit"},
		"both fail":                {"before insert", "after take"},
	} {
		for _, limit := range []int{1, 3} {
			t.Run(name, func(t *testing.T) {
				c := s.sell(t, shards, limit)
				request := wish(c, 7, name+key(limit))
				var second answer
				f := failing(tc.first)
				f.plan["after reserve"] = func() {
					second.order, second.err = s.with(failing(tc.second).into).Place(t.Context(), request)
				}
				var first answer
				first.order, first.err = s.with(f.into).Place(t.Context(), request)
				told := map[int64]bool{}
				for _, a := range []answer{first, second} {
					if a.err == nil {
						told[a.order.ID] = true
					}
				}
				require.LessOrEqual(t, len(told), 1)
				s.settled(t, c, int64(len(told)))
			})
		}
	}
}

// Its id was another order's of the user: the hold is nobody's and goes back.
func TestReconcile_OrderIDTaken_ReleasesHold(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 2)
	s.buy(t, c, 7, "")
	f := failing("before release")
	_, err := s.with(func(p *order.Deps) {
		f.into(p)
		p.IDs = &ids{}
	}).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrUnavailable)
	s.settled(t, c, 1)
}

func TestReconcile_OneHoldFails_OthersGoOn(t *testing.T) {
	s := open(t)
	for _, step := range []string{"before void", "after void"} {
		c := s.sell(t, 40, 1)
		for user := range int64(3) {
			s.abandoned(t, c, user, "after reserve")
		}
		faulty := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.DB = faultyDatabase{p.DB, failing(step)} })
		n, err := faulty.Reconcile(t.Context(), c, 0)
		require.ErrorIs(t, err, order.ErrUnavailable)
		require.Equal(t, 2, n)
		n, err = faulty.Reconcile(t.Context(), c, 0)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		s.atRest(t, c, 0)
	}
}

func TestReconcile_ContextEnds_Stops(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	s.abandoned(t, c, 7, "after reserve")
	ctx, cancel := context.WithCancel(t.Context())
	reconciler := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Shards = lastWord{p.Shards, cancel} })
	n, err := reconciler.Reconcile(ctx, c, 0)
	require.NoError(t, err)
	require.Zero(t, n)
	s.settled(t, c, 0)
}

// lastWord ends the context when it has answered.
type lastWord struct {
	order.Shards
	cancel context.CancelFunc
}

func (l lastWord) OldHolds(ctx context.Context, c coupon.Coupon, shard int, age time.Duration, skip, most int) ([]order.Hold, error) {
	defer l.cancel()
	return l.Shards.OldHolds(ctx, c, shard, age, skip, most)
}
