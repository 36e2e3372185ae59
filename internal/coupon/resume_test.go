package coupon_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// paging reads the buyers three at a time, and dies at a page.
type paging struct {
	coupon.Loader
	mu    sync.Mutex
	asked []int64 // after whom each page was
	dies  int     // at which page; 0: at none
}

func (p *paging) Buyers(ctx context.Context, id, epoch, after int64) (coupon.Page, error) {
	p.mu.Lock()
	p.asked = append(p.asked, after)
	n := len(p.asked)
	p.mu.Unlock()
	if n == p.dies {
		return coupon.Page{}, errCrash
	}
	page, err := p.Loader.Buyers(ctx, id, epoch, after)
	if len(page.Buyers) > 3 {
		page.Buyers = page.Buyers[:3]
		page.Through = page.Buyers[2].UserID
	}
	return page, err
}

// sold returns a coupon that the given number of users have bought. Its stock is lost.
func (s *shop) sold(t *testing.T, users int64) coupon.Coupon {
	t.Helper()
	c := s.published(t, 2*users)
	for user := range users {
		require.NoError(t, s.buy(t.Context(), c, user+1, user+1))
	}
	require.NoError(t, s.redis.FlushAll(t.Context()).Err())
	return c
}

func TestLoading_Interrupted_ResumesWhereItStopped(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sold(t, 20)
		dying := &paging{Loader: s.deps.Loader, dies: 5}
		_, err := s.with(func(p *coupon.Deps) { p.Loader = dying }).Reload(t.Context(), c.ID)
		require.ErrorIs(t, err, errCrash)
		require.ErrorIs(t, s.now(t, c.ID).CheckPurchasable(during), coupon.ErrNotLoaded)

		other := &paging{Loader: s.deps.Loader}
		stop := s.watching(t, 1, func(p *coupon.Deps) { p.Loader = other })
		s.untilLoaded(t, c.ID)
		stop()
		require.Positive(t, other.asked[0], "it does not begin anew")
		after := s.now(t, c.ID)
		require.Equal(t, c.Epoch+1, after.Epoch, "one epoch, of two instances")
		require.Equal(t, int64(20), s.balanced(t, c.ID))
		for user := int64(1); user <= 20; user++ {
			require.NoError(t, s.buy(t.Context(), after, 100+user, user))
			require.Error(t, s.buy(t.Context(), after, 200+user, user), "each was counted once")
		}
	})
}

// A unit that returns while shards are filled, or between the opening of two shards, is counted once.
func TestLoading_ShardLostWhileFilling_IsFilledAgain(t *testing.T) {
	for name, lost := range map[string]func(p *coupon.Deps, harm func()){
		"before any is open": func(p *coupon.Deps, harm func()) {
			p.Shards = patching{p.Shards, harm}
			p.Repository = refusing{p.Repository}
		},
		"when some may be open": func(p *coupon.Deps, harm func()) { p.Shards = opened{p.Shards, harm} },
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *shop) {
				c := s.sold(t, 12)
				harm := func() {
					require.NoError(t, s.redis.Del(t.Context(), "seckill:{1:2}:meta", "seckill:{1:2}:stock", "seckill:{1:2}:buyers").Err())
				}
				_, err := s.with(func(p *coupon.Deps) { lost(p, harm) }).Reload(t.Context(), c.ID)
				require.Error(t, err)
				after := s.watched(t, c.ID)
				require.Equal(t, int64(12), s.balanced(t, c.ID))
				for user := int64(1); user <= 12; user++ {
					require.NoError(t, s.buy(t.Context(), after, 100+user, user))
					require.Error(t, s.buy(t.Context(), after, 200+user, user), "each was counted once")
				}
			})
		})
	}
}

// A unit that returned to an open shard has left the outbox. If that shard is lost before its epoch is complete, only
// a new epoch counts the unit.
func TestLoading_ShardLostWhileOpening_EndsEpoch(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sold(t, 12)
		user := int64(1)
		for coupon.Home(user, shards) != 2 { // a share that does not grow with one unit more
			user++
		}
		_, err := s.with(func(p *coupon.Deps) {
			p.Shards = cutOff{p.Shards, func() {
				s.cancelled(t, c.ID, user)
				require.NoError(t, s.redis.Del(t.Context(), "seckill:{1:2}:meta", "seckill:{1:2}:stock", "seckill:{1:2}:buyers").Err())
			}}
		}).Reload(t.Context(), c.ID)
		require.ErrorIs(t, err, errCrash)
		after := s.watched(t, c.ID)
		require.Equal(t, int64(11), s.balanced(t, c.ID))
		require.Equal(t, c.Epoch+2, after.Epoch)
	})
}

// cutOff are shards after whose opening the instance dies.
type cutOff struct {
	coupon.Shards
	then func()
}

func (c cutOff) Open(ctx context.Context, l coupon.Load) error {
	if err := c.Shards.Open(ctx, l); err != nil {
		return err
	}
	c.then()
	return errCrash
}

// cancelled cancels the user's order, and gives its unit back to the shards.
func (s *shop) cancelled(t *testing.T, id, user int64) {
	t.Helper()
	var back []order.Restock
	require.NoError(t, s.store.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		_, err := tx.Cancel(ctx, user, user)
		if err != nil {
			return err
		}
		back, err = tx.Restock(ctx, order.Order{ID: user, CouponID: id, UserID: user})
		return err
	}))
	require.NoError(t, s.stock.Restock(t.Context(), back[0]))
	require.NoError(t, s.store.Delivered(t.Context(), back...))
}

// opened are shards of which one is lost just before they are opened.
type opened struct {
	coupon.Shards
	before func()
}

func (o opened) Open(ctx context.Context, l coupon.Load) error {
	o.before()
	return o.Shards.Open(ctx, l)
}

// blocked are shards that fill one coupon only after a signal.
type blocked struct {
	coupon.Shards
	id      int64
	waiting chan<- bool // told whether the filling has a deadline
	fill    <-chan struct{}
}

func (b blocked) Fill(ctx context.Context, l coupon.Load) error {
	if l.CouponID == b.id {
		_, bounded := ctx.Deadline()
		b.waiting <- bounded
		<-b.fill
	}
	return b.Shards.Fill(ctx, l)
}

// Each step of a loading has a limit, and the loading has none. It lasts until all buyers are read. Other coupons do
// not wait for it.
func TestLoading_SlowCoupon_OthersAreLoaded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		large, small := s.published(t, 10), s.published(t, 10)
		require.NoError(t, s.redis.FlushAll(t.Context()).Err())
		waiting, fill := make(chan bool, 1), make(chan struct{})
		stop := s.watching(t, 1, func(p *coupon.Deps) {
			p.Exclusive = notExclusive // the lock of these tests is one for all coupons
			p.Shards = blocked{p.Shards, large.ID, waiting, fill}
		})
		defer stop()
		goOn := sync.OnceFunc(func() { close(fill) })
		defer goOn() // first, or stop would wait for ever
		require.False(t, <-waiting, "no deadline for the whole of it")
		s.untilLoaded(t, small.ID)
		require.True(t, s.now(t, large.ID).Loading)
		goOn()
		s.untilLoaded(t, large.ID)
		stop()
		require.Equal(t, large.Epoch+1, s.now(t, large.ID).Epoch)
		s.balanced(t, large.ID)
		s.balanced(t, small.ID)
	})
}

// Two that load at the same time fill the same, and neither hinders the other.
func TestLoading_SecondInstance_JoinsAndOpensOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sold(t, 6)
		waiting, fill := make(chan bool, 1), make(chan struct{})
		done := make(chan error, 1)
		slower := s.with(func(p *coupon.Deps) {
			p.Exclusive = notExclusive
			p.Shards = blocked{p.Shards, c.ID, waiting, fill}
		})
		go func() {
			_, err := slower.Reload(t.Context(), c.ID)
			done <- err
		}()
		<-waiting
		after := s.watched(t, c.ID)
		require.Equal(t, c.Epoch+1, after.Epoch)
		require.NoError(t, s.buy(t.Context(), after, 100, 1))
		close(fill)
		require.NoError(t, <-done)
		require.Equal(t, after.Epoch, s.now(t, c.ID).Epoch)
		require.Equal(t, int64(7), s.balanced(t, c.ID), "what was sold meanwhile stays sold")
		require.Error(t, s.buy(t.Context(), after, 101, 1), "and bought")
	})
}

// One instance stops while another finishes the loading. The stopped instance has an old count of the units. If it
// fills a shard that was lost since, it must not open that shard.
func TestLoading_InstanceTooLate_OpensNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sold(t, 6)
		waiting, fill := make(chan bool, 1), make(chan struct{})
		done := make(chan error, 1)
		late := s.with(func(p *coupon.Deps) {
			p.Exclusive = notExclusive
			p.Shards = blocked{p.Shards, c.ID, waiting, fill}
		})
		go func() {
			_, err := late.Reload(t.Context(), c.ID)
			done <- err
		}()
		<-waiting
		after := s.watched(t, c.ID)
		user := int64(100)
		for coupon.Home(user, shards) != 2 {
			user++
		}
		require.NoError(t, s.buy(t.Context(), after, user, user))
		for _, part := range []string{"stock", "meta", "holds", "open", "buyers", "requests", "returned"} {
			require.NoError(t, s.redis.Del(t.Context(), "seckill:{1:2}:"+part).Err())
		}
		close(fill)
		require.NoError(t, <-done)
		s.watched(t, c.ID)
		require.Equal(t, int64(7), s.balanced(t, c.ID))
	})
}
