package stock

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestServerID_EveryServer_HasOne(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		require.NoError(t, New(dial(t, o), Options{RefusalTTL: longFlag}).CheckServers(t.Context()))
	})
}

// A server that does not say which it is could be another one, or the same one with
// older data: nothing is loaded there, and what was loaded is not taken to be there.
func TestServerID_Denied_IsNeverTheSame(t *testing.T) {
	r := testservers.NewRedis(t)
	all := dial(t, redisconn.Options{Addrs: []string{r.Addr()}})
	may := func(rights ...any) {
		require.NoError(t, all.Do(t.Context(), append([]any{"ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all"}, rights...)...).Err())
	}
	may()
	s := open(t, dial(t, redisconn.Options{Addrs: []string{r.Addr()}, Username: "app", Password: "pw"}), 4, 2)
	s.requireLoaded(true)
	may("-@dangerous")
	require.ErrorIs(t, s.CheckServers(t.Context()), ErrInfoDenied)
	require.ErrorContains(t, s.CheckServers(t.Context()), "INFO")
	s.requireLoaded(false)
	s.load.Epoch = 2
	require.ErrorIs(t, s.Load(t.Context(), s.load), ErrInfoDenied)
	may("+info")
	s.requireLoaded(false)
	require.NoError(t, s.Load(t.Context(), s.load))
	s.requireLoaded(true)
}

// Where INFO has another name the scripts cannot ask either, and say so.
func TestServerID_InfoRenamed_IsNeverTheSame(t *testing.T) {
	r := testservers.NewRedis(t, servers.Set("rename-command", "INFO hidden"))
	s := closed(t, dial(t, redisconn.Options{Addrs: []string{r.Addr()}}), 4, 2)
	require.ErrorIs(t, s.CheckServers(t.Context()), ErrInfoDenied)
	require.ErrorIs(t, s.Load(t.Context(), s.load), ErrInfoDenied)
	s.requireLoaded(false)
}

func TestIdentity_KeyMissing_IsNoticed(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		for _, part := range keySuffixes[:7] {
			s.requireLoaded(true)
			key := tag(s.load.CouponID, 1) + part
			require.NoError(t, s.client.Del(t.Context(), key).Err())
			loaded, err := s.Loaded(t.Context(), s.load.CouponID, s.load.Epoch, 2)
			require.NoError(t, err)
			require.False(t, loaded, part)
			s.load.Epoch++
			require.NoError(t, s.Load(t.Context(), s.load))
		}
		h := s.buy(s.at(0, 0))
		require.NoError(t, release(t.Context(), s, h))
		h = s.buy(s.at(0, 0))
		require.NoError(t, confirm(t.Context(), s, h))
		require.NoError(t, s.Restock(t.Context(), back(h)))
		s.requireLoaded(true)
	})
}

// What was evicted is made again by the next write, and is not what it was.
func TestIdentity_KeyRestored_IsNoticed(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 1)
		s.buy(1)
		require.NoError(t, s.client.Del(t.Context(), tag(s.load.CouponID, 0)+"holds").Err())
		s.buy(2)
		require.EqualValues(t, 1, s.client.Exists(t.Context(), tag(s.load.CouponID, 0)+"holds").Val())
		s.requireLoaded(false)
	})
}

func TestLoaded_AnotherDeployment_ReportsNotLoaded(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		require.NoError(t, client.Del(t.Context(), DefaultPrefix+ownerKey).Err())
		s := closed(t, client, 4, 2)
		known, err := s.Owner(t.Context())
		require.NoError(t, err)
		require.Equal(t, coupon.Owner{}, known)
		require.NoError(t, s.SetOwner(t.Context(), coupon.Owner{Deployment: "a", Server: "db1", Mark: 1 << 52}))
		require.NoError(t, s.SetOwner(t.Context(), coupon.Owner{Deployment: "a", Server: "db2", Mark: 7}))
		known, err = s.Owner(t.Context())
		require.NoError(t, err)
		require.Equal(t, coupon.Owner{Deployment: "a", Server: "db2", Mark: 1 << 52, Alive: true}, known, "a mark never falls")
		require.NoError(t, s.Load(t.Context(), s.load))
		s.requireLoaded(true)

		other := &shop{t: t, client: client, Stock: New(client, Options{RefusalTTL: longFlag}), load: s.load, limit: 1}
		require.NoError(t, other.SetOwner(t.Context(), coupon.Owner{Deployment: "b", Server: "db1", Mark: 3}))
		other.requireLoaded(false)
		require.ErrorIs(t, other.Open(t.Context(), other.load), coupon.ErrPartiallyLoaded)
		known, err = s.Owner(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(3), known.Mark, "its own")
		require.NoError(t, client.HSet(t.Context(), DefaultPrefix+ownerKey, "at", 0).Err())
		known, err = s.Owner(t.Context())
		require.NoError(t, err)
		require.False(t, known.Alive)
		s.requireLoaded(true)
	})
}

// A database that was copied or made anew ends sales of its own: the shards of the other
// one, under the same name, are not its to free.
func TestFree_AnotherDeployment_FreesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		s := closed(t, client, 4, 2)
		s.deployment.Store("a")
		require.NoError(t, s.Load(t.Context(), s.load))
		other := New(client, Options{RefusalTTL: longFlag})
		other.deployment.Store("b")
		freed, err := other.Free(t.Context(), s.load.CouponID, s.load.Epoch)
		require.NoError(t, err)
		require.Zero(t, freed)
		s.requireLoaded(true)
		freed, err = s.Free(t.Context(), s.load.CouponID, s.load.Epoch)
		require.NoError(t, err)
		require.Equal(t, 2, freed)
		s.requireLoaded(false)
	})
}

// Two programs with different prefixes have nothing in common.
func TestPrefix_TwoPrograms_StaySeparate(t *testing.T) {
	client := dial(t, redisconn.Options{Addrs: []string{testservers.NewRedis(t).Addr()}})
	s := closed(t, client, 4, 2, func(o *Options) { o.Prefix = "other:" })
	require.NoError(t, s.SetOwner(t.Context(), coupon.Owner{Deployment: "a"}))
	require.NoError(t, s.Load(t.Context(), s.load))
	h := s.buy(1)
	require.NoError(t, confirm(t.Context(), s, h))
	require.NoError(t, s.PutUnresolved(t.Context(), []order.Order{{ID: h.OrderID}})[0])
	_, err := NewInstances(s.Stock, "i").Heartbeat(t.Context())
	require.NoError(t, err)
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.NotEmpty(t, keys)
	for _, key := range keys {
		require.Regexp(t, "^other:", key)
	}
}
