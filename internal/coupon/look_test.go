package coupon_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// storm calls look from many goroutines, a hundred times each.
func storm(look func(i int)) {
	var asking sync.WaitGroup
	for i := range 128 {
		asking.Go(func() {
			for n := range 100 {
				look(i*100 + n)
			}
		})
	}
	asking.Wait()
}

func TestPageCache_InventedIDs_CostFewQueries(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		before := b.reads.Load()
		storm(func(int) {
			_, err := c.Get(t.Context(), 1000+rand.Int64N(1<<60))
			if !errors.Is(err, coupon.ErrNotFound) {
				t.Error(err)
			}
		})
		require.LessOrEqual(t, b.reads.Load()-before, int64(8), "12,800 ids: one round of four reads and what is the newest")
	})
}

func TestPageCache_Gap_IsCachedUntilRefresh(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		b.put(9, "nine")
		miss := func() int64 {
			before := b.reads.Load()
			_, err := c.Get(t.Context(), 5)
			require.ErrorIs(t, err, coupon.ErrNotFound)
			return b.reads.Load() - before
		}
		require.Positive(t, miss())
		require.Zero(t, miss())
		time.Sleep(2 * time.Second)
		require.Positive(t, miss(), "it may be there by now")
	})
}

// A coupon that was asked for before it was there is found as soon as its creation is known.
func TestCache_ForgetMissingCoupon_FindsCreatedCoupon(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		for _, id := range []int64{2, 1 << 40} {
			_, err := c.Get(t.Context(), id)
			require.ErrorIs(t, err, coupon.ErrNotFound)
			b.put(id, "new")
			c.Invalidate(id)
			require.Equal(t, "new", title(t, c, id))
		}
	})
}

// Clients that leave at once must not leave more reads behind than may be under way.
func TestPageCache_ClientsLeave_ReadsAreBounded(t *testing.T) {
	cached(t, time.Second, func(t *testing.T, b *books, c *coupon.Cache) {
		b.put(1_000_000, "the newest")
		_, err := c.Get(t.Context(), 1_000_000)
		require.NoError(t, err)
		before := b.reads.Load()
		for id := range int64(1000) {
			gone, leave := context.WithTimeout(t.Context(), time.Microsecond)
			_, err := c.Get(gone, 2+id)
			require.Error(t, err)
			leave()
		}
		require.LessOrEqual(t, b.reads.Load()-before, int64(5), "four, and the refresh")
		time.Sleep(5 * time.Second) // they end by themselves
	})
}

// A caller who leaves before its read may begin leaves the read to those who wait with it.
func TestCache_FirstCallerLeavesQueue_OthersRead(t *testing.T) {
	cached(t, time.Second, func(t *testing.T, b *books, c *coupon.Cache) {
		b.put(1_000_000, "the newest")
		require.Equal(t, "the newest", title(t, c, 1_000_000))
		var asking sync.WaitGroup
		for gap := range int64(4) { // they take every slot
			asking.Go(func() { _, _ = c.Get(t.Context(), 100+gap) })
		}
		synctest.Wait()
		first, leave := context.WithCancel(t.Context())
		asking.Go(func() {
			_, err := c.Get(first, 1)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 10 {
			asking.Go(func() {
				found, err := c.Get(t.Context(), 1)
				if err != nil || found.Title != "old" {
					t.Error(found, err)
				}
			})
		}
		synctest.Wait()
		leave()
		asking.Wait()
	})
}

func TestPageCache_EachRefresh_ReadsOnce(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		b.put(2, "two")
		before := b.reads.Load()
		storm(func(int) {
			found, err := c.List(t.Context(), 0, 20)
			if err != nil || len(found) != 2 {
				t.Error(found, err)
			}
		})
		require.LessOrEqual(t, b.reads.Load()-before, int64(4))

		b.put(3, "three")
		c.Invalidate(3)
		found, err := c.List(t.Context(), 0, 20)
		require.NoError(t, err)
		require.Len(t, found, 3, "a change is seen at once where it is made")
	})
}

// A read that began before a change must not be kept after it.
func TestPageCache_ReadBeforeChange_IsNotStored(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		var asking sync.WaitGroup
		asking.Go(func() { _, _ = c.List(t.Context(), 0, 20) })
		synctest.Wait()
		b.put(2, "two")
		c.Invalidate(2)
		asking.Wait()
		found, err := c.List(t.Context(), 0, 20)
		require.NoError(t, err)
		require.Len(t, found, 2)
	})
}

// Whoever makes up cursors must not keep those waiting who look at the first page.
func TestPageCache_ManyOtherPages_KeepsKnownPage(t *testing.T) {
	cached(t, 100*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		_, err := c.List(t.Context(), 0, 20)
		require.NoError(t, err)
		flood, end := context.WithCancel(t.Context())
		var flooding sync.WaitGroup
		for i := range int64(200) {
			flooding.Go(func() {
				for n := i; flood.Err() == nil; n += 200 {
					_, _ = c.List(flood, 1+n, 100)
				}
			})
		}
		time.Sleep(3 * time.Second)
		begun := time.Now()
		found, err := c.List(t.Context(), 0, 20)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Zero(t, time.Since(begun))
		end()
		flooding.Wait()
	})
}
