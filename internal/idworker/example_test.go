package idworker_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/idworker"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
)

// An instance leases a worker number once and then makes ids without any call. Close
// releases the number for the next instance.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	locker, err := lock.New(redislock.New(client, redislock.Options{}), lock.Options{Lease: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	defer func() { _ = locker.Close(ctx) }()

	ids, err := idworker.NewSnowflake(ctx, client, locker, idworker.Options{})
	if err != nil {
		panic(err)
	}
	first, _ := ids.Next(ctx)
	second, _ := ids.Next(ctx)
	fmt.Println("growing:", 0 < first && first < second)
	fmt.Println("a worker number:", ids.Number() >= 0)

	_ = ids.Close(ctx)
	_, err = ids.Next(ctx)
	fmt.Println(err)
	// Output:
	// growing: true
	// a worker number: true
	// idworker: closed
}
