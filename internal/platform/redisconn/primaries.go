package redisconn

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// EachPrimary calls do with a client of each server that takes writes: of a Cluster with
// every master, at once, named by its address, and else with the one, called name. It
// returns the first error.
func EachPrimary(ctx context.Context, client redis.UniversalClient, name string,
	do func(ctx context.Context, name string, node redis.UniversalClient) error,
) error {
	if cluster, is := client.(*redis.ClusterClient); is {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { //nolint:wrapcheck // do's, or the client's
			return do(ctx, node.Options().Addr, node)
		})
	}
	return do(ctx, name, client)
}
