package stock

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/platform/redisconn"
)

// While other instances go on, an instance that stops leaves Redis to them. The last one frees it.
func TestReleaseOwnership_OthersGoOn_RedisStaysOwned(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := New(dial(t, o), Options{Prefix: t.Name() + ":"})
		a, b := NewInstances(s, "a"), NewInstances(s, "b")
		for _, one := range []*Instances{a, b} {
			_, err := one.Heartbeat(t.Context())
			require.NoError(t, err)
		}
		require.NoError(t, s.SetOwner(t.Context(), coupon.Owner{Deployment: "d", Server: "s", Mark: 1}))
		alive := func() bool {
			owner, err := s.Owner(t.Context())
			require.NoError(t, err)
			require.Equal(t, "d", owner.Deployment)
			return owner.Alive
		}
		require.NoError(t, s.ReleaseOwnership(t.Context(), a.Name()))
		require.True(t, alive(), "b goes on")
		peers, err := b.Heartbeat(t.Context())
		require.NoError(t, err)
		require.Len(t, peers, 1, "a has left the fleet")
		require.NoError(t, s.ReleaseOwnership(t.Context(), b.Name()))
		require.False(t, alive(), "no instance goes on")
	})
}
