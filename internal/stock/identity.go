package stock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
)

var whichScript = lua("which", 0, "server")

// CheckServers asks each server for its identity, as the scripts do, and returns ErrInfoDenied if
// one may not tell: it could come back with older data unnoticed.
func (s *Stock) CheckServers(ctx context.Context) error {
	if cluster, is := s.client.(*redis.ClusterClient); is {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { //nolint:wrapcheck // checkServer wraps it
			return checkServer(ctx, node)
		})
	}
	return checkServer(ctx, s.client)
}

func checkServer(ctx context.Context, client redis.Scripter) error {
	which, err := whichScript.Run(ctx, client, nil).Text()
	switch {
	case err != nil:
		return fmt.Errorf("%w: which server of Redis this is: %w", order.ErrUnavailable, err)
	case which == "":
		return ErrInfoDenied
	}
	return nil
}
