package stock

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// An operator, or a mover that has died, leaves a slot open: its shard sells on, where its keys
// are. Then they are moved, in two commands with a pause between.
func TestReserve_SlotMigrating_Sells(t *testing.T) {
	t.Parallel() // it waits more than it works
	cluster := testservers.NewCluster(t)
	c := workloadOn(t, cluster, 4)
	tag := tag(c.load.CouponID, 0)
	from, to, slot := bothMasters(t, cluster, tag+"stock")
	c.requireSelling(0, 1, 2, 3)
	require.NoError(t, cluster.OpenSlot(t.Context(), slot, from, to))
	time.Sleep(openFor())
	c.requireSelling(0, 1, 2, 3)
	c.requireRefused(0, 0, 0, 0)
	c.client.Set(t.Context(), tag+"another", 1, 0) // a key that is new is the other's

	k := c.keys(c.load.CouponID, 0, len(keySuffixes))
	require.NoError(t, cluster.MoveKeys(t.Context(), from, to, k[:4]...))
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, cluster.MoveKeys(t.Context(), from, to, k[4:]...))
	c.requireSelling(0, 1, 2, 3)
	time.Sleep(openFor())
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, to))
	c.requireSelling(0, 1, 2, 3)
	c.requireRefused(0, 0, 0, 0)
	c.requireLoaded(true)
	c.requireAccounts()
}

// A mover that has died half way stops its shard, and no other, until a person goes on.
func TestShards_OneHalfMigrated_OthersGoOn(t *testing.T) {
	t.Parallel() // it waits more than it works
	cluster := testservers.NewCluster(t)
	c := workloadOn(t, cluster, 4)
	from, to, slot := bothMasters(t, cluster, tag(c.load.CouponID, 0)+"stock")
	c.requireSelling(0, 1, 2, 3)
	require.NoError(t, cluster.OpenSlot(t.Context(), slot, from, to))
	require.NoError(t, cluster.MoveKeys(t.Context(), from, to, c.keys(c.load.CouponID, 0, 2)...))
	time.Sleep(openFor())
	_, err := c.Loaded(t.Context(), c.load.CouponID, c.load.Epoch, c.load.Shards)
	require.ErrorContains(t, err, "TRYAGAIN")
	c.requireSelling(1, 2, 3)
	require.Positive(t, c.gates[0].refused.Load())
	c.requireRefused(1_000_000, 0, 0, 0)
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, to))
	c.requireSelling(0, 1, 2, 3)
	c.requireRefused(1_000_000, 0, 0, 0)
	c.requireAccounts()
}

// afterPipeline calls then after the first pipeline of a client.
type afterPipeline struct {
	once sync.Once
	then func()
}

func (a *afterPipeline) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *afterPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (a *afterPipeline) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		err := next(ctx, all)
		a.once.Do(a.then)
		return err
	}
}

// Two instances look at a shard that was moved. The second note of the move must not look like a lost shard, because a
// lost shard is loaded again, and its orders in progress fail.
func TestLoaded_AnotherInstanceNotesTheMove_IsLoaded(t *testing.T) {
	cluster := testservers.Cluster(t)
	backend := backends["a cluster"](t)
	s := closed(t, dial(t, backend), 40, 2)
	require.NoError(t, s.Load(t.Context(), s.load))
	from, to, slot := bothMasters(t, cluster, tag(s.load.CouponID, 0)+"stock")
	require.NoError(t, cluster.OpenSlot(t.Context(), slot, from, to))
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, to))
	slow := dial(t, backend)
	other := New(slow, Options{RefusalTTL: longFlag})
	slow.AddHook(&afterPipeline{then: func() { s.requireLoadedSoon(true) }})
	loaded, err := other.Loaded(t.Context(), s.load.CouponID, s.load.Epoch, s.load.Shards)
	require.NoError(t, err)
	require.True(t, loaded)
}

// While a slot is open its coupon can be loaded, for the first time and again.
func TestLoad_SlotMigrating_Succeeds(t *testing.T) {
	for name, moved := range map[string]bool{"before its keys are moved": false, "for the first time": true} {
		t.Run(name, func(t *testing.T) {
			cluster := testservers.Cluster(t)
			s := closed(t, dial(t, backends["a cluster"](t)), 40, 2)
			from, to, slot := bothMasters(t, cluster, tag(s.load.CouponID, 0)+"stock")
			if !moved {
				require.NoError(t, s.Load(t.Context(), s.load))
				s.buy(s.at(0, 0))
				s.load.Epoch++
			}
			require.NoError(t, cluster.OpenSlot(t.Context(), slot, from, to))
			defer func() { require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, to)) }()
			s.load.Buyers = bought(map[int64]int{s.at(0, 1): 1, s.at(1, 1): 1})
			require.NoError(t, s.Load(t.Context(), s.load))
			s.requireLoaded(true)
			s.wants(0, 20, 20)
			s.buy(s.at(0, 0))
			s.buy(s.at(1, 0))
			require.Error(t, s.try(s.at(0, 1)), "noted")
			s.wants(2, 19, 19)
			require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, to))
			s.requireLoaded(true)
			s.wants(2, 19, 19)
		})
	}
}

// All slots are moved by redis-cli under load: to a master that is added, and away from one that is
// to be taken away.
func TestCluster_MasterAddedAndRemoved_StaysExact(t *testing.T) {
	t.Parallel() // it waits more than it works
	testservers.OneOf(t, 3)
	cluster := testservers.NewCluster(t)
	c := workloadOn(t, cluster, 8)
	added, err := cluster.AddMaster(t.Context())
	require.NoError(t, err)
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	none := make([]int64, len(all))
	time.Sleep(newcomerAge)
	c.requireSelling(all...)
	require.NoError(t, cluster.Rebalance(t.Context()))
	c.requireSelling(all...)
	masters, err := cluster.Masters(t.Context())
	require.NoError(t, err)
	require.Len(t, masters, 4)
	require.Contains(t, masters, added)
	c.requireLoaded(true)

	leaving := masters[0]
	if leaving == added {
		leaving = masters[1]
	}
	require.NoError(t, cluster.Rebalance(t.Context(), leaving))
	c.requireSelling(all...)
	c.requireLoaded(true)
	require.NoError(t, leaving.Kill())
	c.requireSelling(all...)
	c.requireLoaded(true) // nothing is asked of it any more
	c.requireRefused(none...)
	c.requireAccounts()
}
