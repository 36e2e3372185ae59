package coupon_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// books are a database of coupons in memory, that counts how often it is read.
type books struct {
	mu    sync.Mutex
	kept  map[int64]coupon.Coupon
	away  error
	slow  time.Duration
	reads atomic.Int64
}

func (b *books) Find(ctx context.Context, ids ...int64) ([]coupon.Coupon, error) {
	b.reads.Add(1)
	b.mu.Lock()
	away, slow := b.away, b.slow
	var found []coupon.Coupon
	for _, id := range ids {
		if c, ok := b.kept[id]; ok {
			found = append(found, c)
		}
	}
	b.mu.Unlock()
	select { // the answer is on its way
	case <-time.After(slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return found, away
}

func (b *books) Newest(ctx context.Context) (int64, error) {
	b.mu.Lock()
	newest := int64(0)
	for id := range b.kept {
		newest = max(newest, id)
	}
	b.mu.Unlock()
	_, err := b.Find(ctx)
	return newest, err
}

func (b *books) Announced(ctx context.Context, after int64, limit int) ([]coupon.Coupon, error) {
	b.mu.Lock()
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(b.kept)), func(id int64) bool { return id <= after })
	b.mu.Unlock()
	return b.Find(ctx, ids[:min(limit, len(ids))]...)
}

func (b *books) put(id int64, title string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[id] = coupon.Coupon{ID: id, Title: title, EndsAt: time.Now().Add(1000 * time.Hour)}
}

func (b *books) goAway(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = err
}

// cached runs a test with a cache that is refreshed every second, in a time of its own.
func cached(t *testing.T, slow time.Duration, test func(t *testing.T, b *books, c *coupon.Cache)) {
	synctest.Test(t, func(t *testing.T) {
		b := &books{kept: map[int64]coupon.Coupon{}, slow: slow}
		b.put(1, "old")
		c := coupon.NewCache(b, time.Second, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		test(t, b, c)
		stop()
		running.Wait()
	})
}

func title(t *testing.T, c *coupon.Cache, id int64) string {
	t.Helper()
	found, err := c.Get(t.Context(), id)
	require.NoError(t, err)
	return found.Title
}

func TestCache_ConcurrentCallers_ShareOneRead(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		var crowd sync.WaitGroup
		for range 100 {
			crowd.Go(func() {
				found, err := c.Get(t.Context(), 1)
				require.NoError(t, err)
				require.Equal(t, "old", found.Title)
			})
		}
		crowd.Wait()
		require.Equal(t, int64(1), b.reads.Load())
		require.Equal(t, "old", title(t, c, 1))
		require.Equal(t, int64(1), b.reads.Load(), "and then nobody reads")
		_, err := c.Fetch(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, int64(2), b.reads.Load(), "but who wants to know for sure")
	})
}

// A cache that keeps what has ended is full one day, and reads the database for each
// order of a new sale.
func TestCache_CouponEnded_IsEvicted(t *testing.T) {
	cached(t, 0, func(t *testing.T, b *books, c *coupon.Cache) {
		b.mu.Lock()
		b.kept[2] = coupon.Coupon{ID: 2, Title: "ends soon", EndsAt: time.Now().Add(time.Second)}
		b.mu.Unlock()
		require.Equal(t, "old", title(t, c, 1))
		require.Equal(t, "ends soon", title(t, c, 2))
		time.Sleep(10 * time.Second)
		require.Len(t, c.Cached(), 2, "many ask for it just after its end")
		time.Sleep(time.Minute)
		known := c.Cached()
		require.Len(t, known, 1)
		require.EqualValues(t, 1, known[0].ID)
		require.Equal(t, "ends soon", title(t, c, 2), "who asks is answered")
	})
}

func TestCache_CallerLeaves_ReadGoesOn(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		left := make(chan error, 1)
		go func() {
			_, err := c.Get(short, 1)
			left <- err
		}()
		synctest.Wait() // the read is under way, and is the leaver's
		require.Equal(t, "old", title(t, c, 1))
		require.ErrorIs(t, <-left, context.DeadlineExceeded)
		require.Equal(t, int64(1), b.reads.Load())
	})
}

func TestCache_ForgetDuringRead_IgnoresStaleResult(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		first := make(chan coupon.Coupon, 1)
		go func() {
			found, _ := c.Get(t.Context(), 1)
			first <- found
		}()
		synctest.Wait()
		b.put(1, "new")
		c.Invalidate(1)
		require.Equal(t, "new", title(t, c, 1), "who asks after the change does not share the read from before")
		require.Equal(t, "old", (<-first).Title, "who asked before the change may hear of before")
		require.Equal(t, "new", title(t, c, 1))
		require.Equal(t, int64(2), b.reads.Load())
	})
}

func TestCache_ForgetDuringRefresh_IgnoresStaleResult(t *testing.T) {
	cached(t, 50*time.Millisecond, func(t *testing.T, b *books, c *coupon.Cache) {
		require.Equal(t, "old", title(t, c, 1))
		time.Sleep(time.Second - 40*time.Millisecond) // the refresh has read, its answer is on its way
		synctest.Wait()
		require.Equal(t, int64(2), b.reads.Load())
		b.put(1, "new")
		c.Invalidate(1)
		time.Sleep(100 * time.Millisecond) // it arrives
		require.Equal(t, "new", title(t, c, 1))
	})
}

func TestCache_Refresh_LoadsForeignChange(t *testing.T) {
	cached(t, 0, func(t *testing.T, b *books, c *coupon.Cache) {
		b.put(2, "beside")
		require.Equal(t, "old", title(t, c, 1))
		require.Equal(t, "beside", title(t, c, 2))
		b.put(1, "new")
		require.Equal(t, "old", title(t, c, 1))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "new", title(t, c, 1))
		require.Equal(t, int64(3), b.reads.Load(), "all of them in one read")
		require.Len(t, c.Cached(), 2)
	})
}

func TestCache_DatabaseDown_KeepsLastState(t *testing.T) {
	away := errors.New("away")
	cached(t, 0, func(t *testing.T, b *books, c *coupon.Cache) {
		require.Equal(t, "old", title(t, c, 1))
		b.goAway(away)
		b.put(1, "new")
		time.Sleep(10 * time.Second)
		require.Equal(t, "old", title(t, c, 1))
		_, err := c.Get(t.Context(), 2)
		require.ErrorIs(t, err, away, "what was never known is not known now")
		b.goAway(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "new", title(t, c, 1))
	})
}

func TestCache_DatabaseSilent_CallerStopsWaiting(t *testing.T) {
	cached(t, time.Hour, func(t *testing.T, _ *books, c *coupon.Cache) {
		start := time.Now()
		_, err := c.Get(t.Context(), 1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestCache_MissingCoupon_IsQueriedAgainAfterRefresh(t *testing.T) {
	cached(t, 0, func(t *testing.T, b *books, c *coupon.Cache) {
		for range 3 {
			_, err := c.Get(t.Context(), 9)
			require.ErrorIs(t, err, coupon.ErrNotFound)
		}
		require.Empty(t, c.Cached())
		b.put(9, "made")
		time.Sleep(time.Second)
		require.Equal(t, "made", title(t, c, 9))
	})
}

func TestCache_ManyCoupons_IsBounded(t *testing.T) {
	cached(t, 0, func(t *testing.T, b *books, c *coupon.Cache) {
		const bound = 10_000
		for id := range int64(bound + 10) {
			b.put(id, "many")
			require.Equal(t, "many", title(t, c, id))
		}
		require.Len(t, c.Cached(), bound)
		before := b.reads.Load()
		require.Equal(t, "many", title(t, c, bound+5))
		require.Equal(t, before+1, b.reads.Load(), "one that found no room is read each time")
		c.Invalidate(3)
		require.Equal(t, "many", title(t, c, bound+5))
		require.Len(t, c.Cached(), bound, "and has room when another is forgotten")
	})
}
