package coupon_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// The number of shards belongs to an epoch: units that are added later go into the shards that are there, and a
// loading of the raised stock may take more of them.
func TestPublish_NoShardCount_FollowsUnits(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		follows := s.with(func(p *coupon.Deps) { p.ShardCount = 0 })
		c, err := follows.Publish(t.Context(), s.drafted(t, 500).ID)
		require.NoError(t, err)
		require.Equal(t, 1, c.Shards)
		c, err = follows.Patch(t.Context(), c.ID, coupon.Change{Total: new(int64(350_000))})
		require.NoError(t, err)
		require.Equal(t, 1, c.Shards, "a sale keeps its shards")
		left, err := s.stock.Remaining(t.Context(), c.ID, c.Shards)
		require.NoError(t, err)
		require.Equal(t, []int64{350_000}, left)

		require.NoError(t, s.redis.FlushAll(t.Context()).Err())
		c, err = follows.Reload(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, 4, c.Shards)
		left, err = s.stock.Remaining(t.Context(), c.ID, c.Shards)
		require.NoError(t, err)
		require.Equal(t, []int64{87_500, 87_500, 87_500, 87_500}, left)
	})
}
