package coupon_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// heldUp is Shards whose filling is held up before it arrives.
type heldUp struct {
	coupon.Shards
	before func()
}

func (s heldUp) Fill(ctx context.Context, l coupon.Load) error {
	s.before()
	return s.Shards.Fill(ctx, l)
}

// A loader may be held up for as long as a sale lasts, and a day. What it then fills is
// of a sale whose shards were freed, and nothing would ever free it again.
func TestLateLoading_SaleFreed_LeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		late := shuts.Add(coupon.Retention + time.Hour)
		d, now := s.deps, during
		d.Now = func() time.Time { return now }
		d.Shards = heldUp{d.Shards, func() {
			n, err := s.at(late).Free(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Zero(t, s.keys(t))
			now = late
		}}
		_, err := coupon.NewService(d).Reload(t.Context(), c.ID)
		require.ErrorIs(t, err, coupon.ErrConflict)
		require.Zero(t, s.keys(t))
	})
}
