package coupon_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// at is another instance, whose clock is at a moment.
func (s *shop) at(now time.Time) *coupon.Service {
	p := s.deps
	p.Now = func() time.Time { return now }
	return coupon.NewService(p)
}

// keys counts what Redis has of the coupons.
func (s *shop) keys(t *testing.T) int {
	t.Helper()
	keys, err := s.redis.Keys(t.Context(), "seckill:{*:*}:*").Result()
	require.NoError(t, err)
	return len(keys)
}

func TestFreeShards_DayAfterEnd_FreesSale(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		require.NoError(t, s.buy(t.Context(), c, 1, 1))
		there := s.keys(t)
		require.Positive(t, there)
		ended, err := s.Patch(t.Context(), c.ID, coupon.Change{End: true})
		require.NoError(t, err)
		require.Equal(t, during.Truncate(time.Millisecond), ended.EndsAt)

		for _, early := range []time.Duration{0, coupon.Retention - time.Second} {
			n, err := s.at(ended.EndsAt.Add(early)).Free(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
			require.Equal(t, there, s.keys(t))
		}
		for want := 1; want >= 0; want-- {
			n, err := s.at(ended.EndsAt.Add(coupon.Retention)).Free(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, n)
			require.Zero(t, s.keys(t))
		}
		after := s.now(t, c.ID)
		require.Equal(t, []any{0, coupon.Ended, int64(9)}, []any{after.Shards, after.State, after.Left})
		require.Greater(t, after.Epoch, c.Epoch)
	})
}

// An administrator moves the end of a sale that the clock has ended, while its shards are freed or after that. The sale
// is loaded under a newer epoch and sells on.
func TestFreeShards_SaleResumed_KeepsShards(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		late := shuts.Add(coupon.Retention + time.Hour)
		moved := late.Add(time.Hour)
		later := s.at(late)
		n, err := later.Free(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, err = later.Patch(t.Context(), c.ID, coupon.Change{EndsAt: &moved})
		require.NoError(t, err)
		_, err = later.Reload(t.Context(), c.ID)
		require.NoError(t, err)
		require.EqualValues(t, 10, s.loaded(t, c.ID))
		n, err = later.Free(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.EqualValues(t, 10, s.loaded(t, c.ID))
		freed, err := s.stock.Free(t.Context(), c.ID, c.Epoch+1)
		require.NoError(t, err)
		require.Zero(t, freed, "an instance that is late frees older epochs only")
	})
}

// The epoch of a coupon whose shards are freed may be begun and never have come to its
// end. If the sale goes on after all, there is nothing to go on with: it is loaded anew.
func TestFreeShards_DuringLoading_LoadingStartsAnew(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		late := shuts.Add(coupon.Retention + time.Hour)
		moved := late.Add(time.Hour)
		later := s.at(late)
		_, err := later.Free(t.Context())
		require.NoError(t, err)
		freed, err := s.store.Coupons().Change(t.Context(), c.ID, func(c *coupon.Coupon) error {
			require.Equal(t, []any{0, false, false}, []any{c.Shards, c.Loading, c.Opening})
			c.Loading, c.EndsAt = true, moved
			return nil
		})
		require.NoError(t, err)
		again, err := later.Publish(t.Context(), c.ID)
		require.NoError(t, err)
		require.Greater(t, again.Epoch, freed.Epoch)
		require.EqualValues(t, 10, s.loaded(t, c.ID))
	})
}

// Programs from before wrote that a sale has ended, and left its end in the future.
func TestEnd_FutureEndOfEndedSale_IsMoved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		_, err := s.store.Coupons().Change(t.Context(), c.ID, func(c *coupon.Coupon) error {
			c.State, c.EndsAt = coupon.Ended, opens.AddDate(10, 0, 0)
			return nil
		})
		require.NoError(t, err)
		n, err := s.Free(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, during.Truncate(time.Millisecond), s.now(t, c.ID).EndsAt)
		n, err = s.at(during.Add(coupon.Retention)).Free(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Zero(t, s.keys(t))
	})
}

// The list is a moment old when the first coupon of it is freed.
func TestFreeShards_EndMovedJustNow_KeepsShards(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		late := shuts.Add(coupon.Retention + time.Hour)
		moved := late.Add(time.Hour)
		p := s.deps
		p.Now = func() time.Time { return late }
		p.Loader = old{p.Loader, func() {
			_, err := s.Patch(t.Context(), c.ID, coupon.Change{EndsAt: &moved})
			require.NoError(t, err)
		}}
		n, err := coupon.NewService(p).Free(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.EqualValues(t, 10, s.loaded(t, c.ID))
		require.Equal(t, c.Epoch, s.now(t, c.ID).Epoch)
	})
}

// old is a Loader whose list of spent coupons is not true any more when it is read.
type old struct {
	coupon.Loader
	then func()
}

func (o old) Freeable(ctx context.Context, now time.Time, limit int) ([]coupon.Coupon, error) {
	defer o.then()
	return o.Loader.Freeable(ctx, now, limit)
}
