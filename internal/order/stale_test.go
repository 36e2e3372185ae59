package order_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func TestStaleEpoch_DuringLoading_PlacesUnderNewEpoch(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for _, step := range []string{"before reserve", "after reserve", "before begin"} {
			t.Run(step, func(t *testing.T) {
				c := s.sell(t, shards, 1)
				s.buy(t, c, 8, "")
				epoch := c.Epoch
				f := &faults{plan: map[string]func(){step: func() { c = s.reload(t, c) }}}
				_, err := s.with(f.into).Place(t.Context(), wish(c, 7, "k"+step))
				require.NoError(t, err)
				require.Equal(t, epoch+1, c.Epoch)
				s.atRest(t, c, 2)
			})
		}
	})
}

// The instance has not heard of the new epoch, because the message was lost.
func TestStaleEpoch_LoadingMissed_IsNoticed(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	stale := &old{Sales: s.deps.Sales}
	stale.c = c
	c = s.reload(t, c)
	instance := s.with(func(p *order.Deps) { p.Sales = stale })
	_, err := instance.Place(t.Context(), wish(c, 7, ""))
	require.NoError(t, err)
	require.EqualValues(t, 1, stale.forgot.Load())
	s.atRest(t, c, 1)
}

// Loaded again and again: it is asked once more and not for ever.
func TestPlace_ReloadedTwice_ReturnsErrStaleEpoch(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	stale := &stubborn{old{Sales: s.deps.Sales, c: c}}
	c = s.reload(t, c)
	_, err := s.with(func(p *order.Deps) { p.Sales = stale }).Place(t.Context(), wish(c, 7, "k"))
	require.ErrorIs(t, err, order.ErrStaleEpoch)
	require.EqualValues(t, 1, stale.forgot.Load())
	s.atRest(t, c, 0)
}

func TestStaleFence_DatabaseAhead_IsAdvancedAndOrderPlaced(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	const seen = uint64(1) << 60 // a clock far ahead, before the failover
	s.exec(t, "INSERT INTO fences (user_id, fence) VALUES (7, ?)", seen)
	o := s.buy(t, c, 7, "k")
	require.Greater(t, o.Fence, seen)
	require.EqualValues(t, o.Fence, s.number(t, "SELECT fence FROM fences WHERE user_id = 7"))
	s.atRest(t, c, 1)
}

func TestStaleFence_CannotBeAdvanced_SellsNothing(t *testing.T) {
	s := open(t)
	for name, raise := range map[string]error{
		"the lock's server is away":     errors.New("away"),
		"somebody else is faster again": nil,
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, shards, 1)
			user := last(c)
			s.exec(t, "INSERT INTO fences (user_id, fence) VALUES (?, 1 << 60)", user)
			deaf := &deafLocker{Locker: s.deps.Locker, err: raise}
			_, err := s.with(func(p *order.Deps) { p.Locker = deaf }).Place(t.Context(), wish(c, user, "k"))
			require.ErrorIs(t, err, order.ErrUnavailable)
			require.ErrorIs(t, err, order.ErrStaleFence)
			require.Equal(t, 1, deaf.raised, "once more and not for ever")
			s.atRest(t, c, 0)
		})
	}
}

// deafLocker raises no fence.
type deafLocker struct {
	order.Locker
	err    error
	raised int
}

func (l *deafLocker) AdvanceFence(context.Context, string, uint64) error {
	l.raised++
	return l.err
}

// The instance that queued the request knew of the higher limit. The worker's instance did not, because the message was
// lost.
func TestWorker_LimitWasRaisedElsewhere_CommitsTheOrder(t *testing.T) {
	for _, alone := range []bool{false, true} {
		s := open(t)
		c := s.sell(t, shards, 1)
		stale := &old{Sales: s.deps.Sales, c: c}
		here, elsewhere := s.queueing("here"), s.queueing("elsewhere", func(p *order.Deps) {
			p.Sales = stale
			if alone {
				p.BatchSize = 1
			}
		})
		s.buy(t, c, 7, "first")
		_, err := s.coupons.Patch(t.Context(), c.ID, coupon.Change{LimitPerUser: new(2)})
		require.NoError(t, err)
		o := queued(t, here, c, 7, "second")
		consuming(t, s, s.drained(t, c), elsewhere)
		shown, err := here.Get(t.Context(), o.ID, 7)
		require.NoError(t, err)
		require.Equal(t, order.Pending, shown.Status, "it was answered 202")
		require.Positive(t, stale.forgot.Load()) // each attempt at the entry reads once
		s.atRest(t, c, 2)
	}
}

// A refusal that no newer coupon changes ends the entry after one more read.
func TestWorker_LimitIsReached_RefusesTheEntry(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	sales := &counted{Sales: s.deps.Sales}
	here := s.queueing("here", func(p *order.Deps) { p.Sales = sales })
	o := queued(t, here, c, 7, "queued")
	s.exec(t, `INSERT INTO orders (id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at)
		VALUES (99, ?, 7, 1, 'paid', 1, 'by another way', 0, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))`, c.ID)
	s.exec(t, "UPDATE coupons SET stock = stock - 1 WHERE id = ?", c.ID)
	consuming(t, s, s.drained(t, c), here)
	shown, err := here.Get(t.Context(), o.ID, 7)
	require.NoError(t, err)
	require.Equal(t, order.Void, shown.Status)
	require.Positive(t, sales.forgot.Load()) // each attempt at the entry reads once
}

// counted counts how often a coupon is read again.
type counted struct {
	order.Sales
	forgot atomic.Int64
}

func (c *counted) Invalidate(id int64) {
	c.forgot.Add(1)
	c.Sales.Invalidate(id)
}
