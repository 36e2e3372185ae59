package stock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

const (
	// unitsPerShard is how many units of a coupon one server keeps in one shard, if Options.UnitsPerShard is 0. A
	// server runs one script at a time, so more shards of a coupon only make more scripts. But Redis answers nothing
	// while it grows the table of a shard: the longest call took up to 6 ms with 120,000 buyers in a table, and up to
	// 17 ms with 600,000 (docs/performance/large-sales.md).
	unitsPerShard = 100_000
	// unitsPerShardInCluster is the same in a Cluster, where more shards bring a sale to more masters. A coupon with
	// fewer units is sold before one master is busy.
	unitsPerShardInCluster = 1_000
	// fewShards is the most shards of a coupon on a server, or on at most 4 masters.
	fewShards = 8
	// shardsPerMaster spreads the shards of a coupon evenly: with 8 shards for each master, the busiest master has a
	// tenth more than the mean.
	shardsPerMaster = 8
)

// ShardsFor implements coupon.Shards.
func (s *Stock) ShardsFor(ctx context.Context, units int64) int {
	each, most := int64(unitsPerShard), fewShards
	if masters := s.masterCount(ctx); masters > 0 {
		each = unitsPerShardInCluster
		if masters > fewShards/2 {
			most = masters * shardsPerMaster
		}
	}
	if s.unitsPerShard > 0 {
		each = min(each, s.unitsPerShard)
	}
	return int(min(max(1, (units+each-1)/each), int64(most), maxShards))
}

// maxShards is the most that the configuration accepts.
const maxShards = 1024

// masterCount returns the number of masters of a Cluster, as the last call of Servers found them, or 0 of a server.
func (s *Stock) masterCount(ctx context.Context) int {
	if _, is := s.client.(*redis.ClusterClient); !is {
		return 0
	}
	if n := s.servers.count(); n > 0 {
		return n
	}
	s.Servers(ctx)
	return max(1, s.servers.count())
}
