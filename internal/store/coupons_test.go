package store

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

func TestCreate_Coupon_IsFoundUnchanged(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		repo := s.Coupons()
		draft := coupon.Coupon{
			Title: "Half price ½ – ñ", Total: 5, Left: 5, LimitPerUser: 2, PriceCents: 199,
			BeginsAt: begins, EndsAt: begins.Add(time.Hour), State: coupon.Draft,
		}
		first, err := repo.Create(t.Context(), draft)
		require.NoError(t, err)
		require.Positive(t, first.ID)
		second, err := repo.Create(t.Context(), draft)
		require.NoError(t, err)
		require.Greater(t, second.ID, first.ID)

		draft.ID = first.ID
		require.Equal(t, draft, first)
		found, err := repo.Find(t.Context(), second.ID, 999, first.ID)
		require.NoError(t, err)
		require.Equal(t, []coupon.Coupon{first, second}, found, "an unknown one is left out")
		found, err = repo.Find(t.Context())
		require.NoError(t, err)
		require.Empty(t, found)
	})
}

func TestCoupons_Pages_AreListed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		var want, got []int64
		for range 5 {
			want = append(want, onSale(t, s, 1).ID)
		}
		after, pages := int64(0), 0
		for {
			page, err := s.Coupons().List(t.Context(), after, 2)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			for _, c := range page {
				got = append(got, c.ID)
				after = c.ID
			}
			pages++
		}
		require.Equal(t, want, got)
		require.Equal(t, 3, pages)
	})
}

// A moment has milliseconds, here and in the database: what an answer shows is what
// the next one shows.
func TestTimes_Stored_AreReadUnchanged(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		east := time.FixedZone("east", 9*3600)
		for name, at := range map[string]time.Time{
			"whole seconds":         time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
			"milliseconds":          time.Date(2026, 3, 1, 10, 0, 0, 7e6, time.UTC),
			"more than is kept":     time.Date(2026, 3, 1, 10, 0, 0, 7_999_999, time.UTC),
			"another zone":          time.Date(2026, 3, 1, 19, 0, 0, 7e6, east),
			"a monotonic clock":     time.Now(),
			"the hour that is lost": time.Date(2026, 3, 29, 2, 30, 0, 0, time.UTC),
		} {
			want := at.UTC().Truncate(time.Millisecond)
			made, err := s.Coupons().Create(t.Context(), coupon.Coupon{
				Title: name, Total: 9, Left: 9, LimitPerUser: 1, BeginsAt: at, EndsAt: at.Add(time.Hour), State: coupon.OnSale, Epoch: 1, Shards: 1,
			})
			require.NoError(t, err, name)
			require.Equal(t, []time.Time{want, want.Add(time.Hour)}, []time.Time{made.BeginsAt, made.EndsAt}, name)
			found, err := s.Coupons().Find(t.Context(), made.ID)
			require.NoError(t, err, name)
			require.Equal(t, made, found[0], name)

			changed, err := s.Coupons().Change(t.Context(), made.ID, func(c *coupon.Coupon) error {
				c.EndsAt = at.Add(2 * time.Hour)
				return nil
			})
			require.NoError(t, err, name)
			require.Equal(t, want.Add(2*time.Hour), changed.EndsAt, name)

			o := wish(made, made.ID, made.ID)
			o.CreatedAt, o.ExpiresAt = at, at.Add(time.Minute)
			require.NoError(t, place(t.Context(), s, made, o), name)
			read, err := s.Get(t.Context(), o.ID, o.UserID)
			require.NoError(t, err, name)
			require.Equal(t, []time.Time{want, want.Add(time.Minute)}, []time.Time{read.CreatedAt, read.ExpiresAt}, name)
		}
	})
}

func TestChange_AnyFailure_IsAllOrNothing(t *testing.T) {
	no := errors.New("no")
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 5)
		placed(t, s, c, 1, 1)
		_, err := s.Coupons().Change(t.Context(), 999, func(*coupon.Coupon) error { return nil })
		require.ErrorIs(t, err, coupon.ErrNotFound)

		changed, err := s.Coupons().Change(t.Context(), c.ID, func(c *coupon.Coupon) error {
			require.Equal(t, int64(4), c.Left, "what is there now")
			c.Title, c.PriceCents, c.State = "For nothing", 0, coupon.Paused
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, int64(0), changed.PriceCents, "nought is a value")
		_, err = s.Coupons().Change(t.Context(), c.ID, func(c *coupon.Coupon) error { c.Title = "Refused"; return no })
		require.ErrorIs(t, err, no)
		found, err := s.Coupons().Find(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, []coupon.Coupon{changed}, found)
	})
}

func TestChange_ConcurrentOrders_OverwriteNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		const n = 15
		c := onSale(t, s, n)
		var all []func() error
		for i := range int64(n) {
			all = append(all,
				func() error { return place(t.Context(), s, c, wish(c, i+1, i+1)) },
				func() error {
					_, err := s.Coupons().Change(t.Context(), c.ID, func(c *coupon.Coupon) error { c.Total++; c.Left++; return nil })
					return err
				})
		}
		for _, err := range together(all...) {
			require.NoError(t, err)
		}
		stock, live := left(t, s, c)
		require.Equal(t, []int64{n, n}, []int64{stock, live})
	})
}
