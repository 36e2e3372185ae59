package stock

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// slotOf is the slot of a key as the Redis Cluster specification has it: CRC-16/XMODEM
// of the hash tag, of which there are 16384.
func slotOf(tag string) int {
	var crc uint16
	for _, c := range []byte(tag) {
		crc ^= uint16(c) << 8
		for range 8 {
			if high := crc&0x8000 != 0; high {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % slots)
}

const slots = 16384

// masterOf returns the master of a slot. As redis-cli --cluster create does, each of the masters has the slots up
// to its end, which is rounded.
func masterOf(slot, masters int) int {
	master := 0
	for slot >= int(math.Round(float64(master+1)*slots/float64(masters))) {
		master++
	}
	return master
}

// spread counts a coupon's shards on each of the masters.
func spread(couponID int64, shards, masters int) []int {
	n := make([]int, masters)
	for shard := range shards {
		n[masterOf(slotOf(strconv.FormatInt(couponID, 10)+":"+strconv.Itoa(shard)), masters)]++
	}
	return n
}

// How the shards of a coupon spread over the masters, for a thousand coupons. docs/CAPACITY.md
// has the table, and why 1, 2 and 4 masters come out even.
func TestShards_ManyCoupons_SpreadOverMasters(t *testing.T) {
	for _, want := range []struct {
		masters, shards int
		least, most     int // shards of one master, of whichever coupon
	}{
		{1, 8, 8, 8},
		{1, 16, 16, 16},
		{1, 64, 64, 64},
		{2, 8, 4, 4},
		{2, 16, 6, 10},
		{2, 64, 30, 34},
		{3, 8, 2, 4},
		{3, 16, 3, 10},
		{3, 64, 16, 28},
		{4, 8, 2, 2},
		{4, 16, 3, 5},
		{4, 64, 15, 17},
		{8, 8, 0, 2},
		{8, 16, 0, 5},
		{8, 64, 6, 11},
	} {
		least, most, median := want.shards, 0, []int{}
		for id := int64(1); id <= 1000; id++ {
			n := spread(id, want.shards, want.masters)
			least, most = min(least, slices.Min(n)), max(most, slices.Max(n))
			median = append(median, slices.Max(n))
		}
		slices.Sort(median)
		t.Logf("%d masters, %2d shards: at least %2d and at most %2d on one; on the busiest %2d for half of the coupons, %.0f %% of all",
			want.masters, want.shards, least, most, median[500], 100*float64(median[500])/float64(want.shards))
		require.Equal(t, []int{want.least, want.most}, []int{least, most}, "%d masters, %d shards", want.masters, want.shards)
	}
}

// A real cluster agrees with masterOf while its slots are in their first places. In the shared cluster other tests
// move some slots.
func TestShards_Cluster_LieOnTheirMasters(t *testing.T) {
	cluster := testservers.NewCluster(t)
	masters, err := cluster.Masters(t.Context())
	require.NoError(t, err)
	o := redisconn.Options{Mode: redisconn.Cluster, Addrs: cluster.Addrs()}
	ranges, err := dial(t, o).ClusterSlots(t.Context()).Result()
	require.NoError(t, err)
	require.Len(t, ranges, len(masters))
	for _, r := range ranges {
		first, last := masterOf(r.Start, len(masters)), masterOf(r.End, len(masters))
		require.Equal(t, first, last, "slots %d to %d", r.Start, r.End)
		require.True(t, r.Start == 0 || masterOf(r.Start-1, len(masters)) != first, "slot %d is the first of its master", r.Start)
	}
	const shards = 16
	total := map[string]int{}
	for range 20 {
		s := open(t, dial(t, o), coupon.MaxStock, shards)
		here, reckoned := make([]int, len(masters)), spread(s.load.CouponID, shards, len(masters))
		for shard := range shards {
			key := tag(s.load.CouponID, shard) + "stock"
			slot, err := s.client.ClusterKeySlot(t.Context(), key).Result()
			require.NoError(t, err)
			require.EqualValues(t, slotOf(strconv.FormatInt(s.load.CouponID, 10)+":"+strconv.Itoa(shard)), slot)
			for i, m := range masters {
				one := redis.NewClient(&redis.Options{Addr: m.Addr()})
				if n, err := one.Exists(t.Context(), key).Result(); err == nil && n == 1 { // elsewhere it is MOVED
					here[i]++
					total[m.Addr()]++
				}
				require.NoError(t, one.Close())
			}
		}
		slices.Sort(here)
		slices.Sort(reckoned)
		require.Equal(t, reckoned, here, "coupon %d", s.load.CouponID)
	}
	require.Len(t, total, len(masters))
}

// BenchmarkBuyerMemory reports the Redis memory of a buyer: as an open hold, and as a buyer while the coupon is
// loaded.
func BenchmarkBuyerMemory(b *testing.B) {
	ctx := context.Background()
	client := dial(b, redisconn.Options{Addrs: []string{testservers.NewRedis(b).Addr()}})
	s := open(b, client, coupon.MaxStock, benchShards)
	used := func() float64 {
		info, err := client.InfoMap(ctx, "memory").Result()
		require.NoError(b, err)
		n, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
		require.NoError(b, err)
		return n
	}
	n := max(b.N, 20_000)
	before := used()
	for user := range n {
		s.buy(int64(user) + 1_000_000)
	}
	held := used()
	b.ReportMetric((held-before)/float64(n), "bytes/hold")
	holds := s.openHolds(benchShards)
	require.Len(b, holds, n)
	for _, h := range holds {
		require.NoError(b, confirm(ctx, s, h))
	}
	b.ReportMetric((used()-before)/float64(n), "bytes/buyer")
}
