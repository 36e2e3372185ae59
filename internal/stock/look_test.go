package stock

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// errCut is the error of a script that was cut short.
var errCut = errors.New("ERR user_script: NOPERM")

// tripCounter counts round trips and commands, as the client sends them.
type tripCounter struct {
	mu       sync.Mutex
	trips    int
	commands map[string]int
}

// countTrips counts what the client sends from now on.
func countTrips(client redis.UniversalClient) *tripCounter {
	n := &tripCounter{commands: map[string]int{}}
	client.AddHook(n)
	return n
}

func (n *tripCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *tripCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		n.add(cmd)
		return next(ctx, cmd)
	}
}

func (n *tripCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		n.add(cmds...)
		return next(ctx, cmds)
	}
}

func (n *tripCounter) add(cmds ...redis.Cmder) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trips++
	for _, cmd := range cmds {
		n.commands[cmd.Name()]++
	}
}

// taken returns what was counted, and begins anew.
func (n *tripCounter) taken() (trips int, commands map[string]int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	trips, commands = n.trips, n.commands
	n.trips, n.commands = 0, map[string]int{}
	return trips, commands
}

// stocked are coupons that are loaded, with their Stock.
func stocked(t *testing.T, client redis.UniversalClient, coupons, shards int) (s *shop, all []coupon.Coupon) {
	t.Helper()
	for range coupons {
		one := open(t, client, 10, shards)
		if s == nil {
			s = one
		}
		all = append(all, coupon.Coupon{ID: one.load.CouponID, Epoch: one.load.Epoch, Shards: shards})
	}
	return s, all
}

func TestLoadedAll_ManyCoupons_OneRoundTripWithoutTheScriptsText(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		s, all := stocked(t, client, 40, 4)
		s.Servers(t.Context())
		_, _ = s.LoadedAll(t.Context(), all) // a server may not know the script before
		sent := countTrips(client)
		loaded, errs := s.LoadedAll(t.Context(), all)
		for i := range all {
			require.NoError(t, errs[i])
			require.True(t, loaded[i])
		}
		trips, commands := sent.taken()
		require.Equal(t, 1, trips)
		require.Equal(t, map[string]int{"evalsha": 160}, commands)
		require.NoError(t, client.Del(t.Context(), tag(all[7].ID, 3)+"buyers").Err())
		loaded, _ = s.LoadedAll(t.Context(), all)
		require.False(t, loaded[7], "a key is missing")
		require.True(t, loaded[8])
	})
}

// The scripts ask the server which it is only if the instance does not know.
func TestLoadedAll_KnownServer_AsksNoScriptForInfo(t *testing.T) {
	r := testservers.NewRedis(t)
	client := dial(t, redisconn.Options{Addrs: []string{r.Addr()}})
	s, all := stocked(t, client, 4, 4)
	s.Servers(t.Context())
	require.NoError(t, client.ConfigResetStat(t.Context()).Err())
	_, errs := s.LoadedAll(t.Context(), all)
	require.NoError(t, errs[0])
	require.NotContains(t, client.Info(t.Context(), "commandstats").Val(), "cmdstat_info")
}

func TestServers_ServerIsEmptiedOrRestarts_NameChanges(t *testing.T) {
	r := testservers.NewRedis(t)
	client := dial(t, redisconn.Options{Addrs: []string{r.Addr()}})
	s, all := stocked(t, client, 3, 4)
	before := s.Servers(t.Context())
	require.Equal(t, before, s.Servers(t.Context()))
	require.NoError(t, client.FlushAll(t.Context()).Err())
	emptied := s.Servers(t.Context())
	require.NotEqual(t, before, emptied)
	require.Equal(t, emptied, s.Servers(t.Context()))
	require.NoError(t, r.Kill())
	require.NotEqual(t, emptied, s.Servers(t.Context()))
	require.NoError(t, r.Restart(t.Context()))
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, patience, patience/1000)
	restarted := s.Servers(t.Context())
	require.NotEqual(t, emptied, restarted)
	loaded, errs := s.LoadedAll(t.Context(), all)
	require.NoError(t, errs[0])
	require.False(t, loaded[0])
}

func TestClaim_TwoInstances_ShareTheCoupons(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		a, b := open(t, client, 1, 1), open(t, client, 1, 1)
		ids := []int64{a.load.CouponID, b.load.CouponID}
		claimed, err := a.Claim(t.Context(), ids[:1], longFlag)
		require.NoError(t, err)
		require.Equal(t, ids[:1], claimed)
		b.cutShort(t.Context(), 0, epochUnknown, errCut)
		claimed, err = b.Claim(t.Context(), ids, longFlag)
		require.NoError(t, err)
		require.Equal(t, ids[1:], claimed)
		b.cutShort(t.Context(), ids[0], epochUnknown, errCut)
		claimed, err = b.Claim(t.Context(), ids, longFlag)
		require.NoError(t, err)
		require.Equal(t, ids[:1], claimed, "only this instance knows that a script was cut short")
	})
}

func TestAsked_AfterReserve_HasTheCouponOnce(t *testing.T) {
	s := open(t, dial(t, backends["a server"](t)), 4, 1)
	require.Empty(t, s.Requested())
	s.buy(1)
	s.buy(2)
	require.Equal(t, map[int64]bool{s.load.CouponID: true}, s.Requested())
	require.Empty(t, s.Requested())
}

func TestOldShards_ManyCoupons_TwoRoundTripsFindTheShardsWithOldHolds(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		s, all := stocked(t, client, 40, 4)
		h := s.buy(s.at(2, 0)) // of the first coupon
		sent := countTrips(client)
		shards, errs := s.OldShards(t.Context(), all, 0)
		trips, commands := sent.taken()
		require.Equal(t, 2, trips)
		require.Equal(t, map[string]int{"hlen": 160, "zcard": 1, "zrange": 1, "time": 1}, commands)
		for i := range all {
			require.NoError(t, errs[i])
			if i > 0 {
				require.Empty(t, shards[i])
			}
		}
		require.Equal(t, []int{2}, shards[0])
		shards, _ = s.OldShards(t.Context(), all[:1], longFlag)
		require.Empty(t, shards[0], "the hold is young")
		require.NoError(t, client.Del(t.Context(), tag(all[0].ID, 2)+"ages").Err())
		shards, _ = s.OldShards(t.Context(), all[:1], longFlag)
		require.Equal(t, []int{2}, shards[0], "the index lacks a hold")
		old, err := s.OldHolds(t.Context(), all[0], 2, 0, 0, 10)
		require.NoError(t, err)
		require.Equal(t, h.OrderID, old[0].OrderID)
	})
}

// What a scrape, an audit or a page reads of all coupons takes a round trip for many shards.
func TestReadings_ManyCoupons_OneRoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		s, all := stocked(t, client, 40, 4)
		_, err := s.ReadShards(t.Context(), all[0].ID, 4) // a server may not know the script before
		require.NoError(t, err)
		sent := countTrips(client)
		for name, read := range map[string]func() []error{
			"units":  func() []error { _, errs := s.RemainingAll(t.Context(), all); return errs },
			"queues": func() []error { _, errs := s.QueuesAll(t.Context(), all); return errs },
			"shards": func() []error { _, err := s.ReadShards(t.Context(), all[0].ID, 4); return []error{err} },
		} {
			require.NoError(t, errors.Join(read()...), name)
			trips, _ := sent.taken()
			require.Equal(t, 1, trips, name)
		}
		left, _ := s.RemainingAll(t.Context(), all)
		require.Equal(t, []int64{3, 3, 2, 2}, left[39])
	})
}

func TestLoad_KnownScripts_SendsNoText(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		client := dial(t, o)
		s := open(t, client, 10, 8) // a server may not know the scripts before
		next := s.load
		next.Epoch++
		sent := countTrips(client)
		require.NoError(t, s.Load(t.Context(), next))
		_, commands := sent.taken()
		require.Equal(t, 24, commands["evalsha"], "each of 8 shards begins, notes that it has all buyers, and opens")
		require.Zero(t, commands["eval"], "the text of a script")

		forgetScripts(t, client)
		next.Epoch++
		require.NoError(t, s.Load(t.Context(), next))
		loaded, err := s.Loaded(t.Context(), next.CouponID, next.Epoch, 8)
		require.NoError(t, err)
		require.True(t, loaded)
	})
}
