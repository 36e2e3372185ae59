package embedded_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/platform/embedded"
)

// A demonstration needs no server: both stores live in the process, and their data end with
// Close.
func ExampleStart() {
	ctx := context.Background()
	stores, err := embedded.Start(ctx)
	if err != nil {
		panic(err)
	}
	defer func() { _ = stores.Close() }()

	client := redis.NewClient(&redis.Options{Addr: stores.RedisAddr()})
	defer func() { _ = client.Close() }()
	fmt.Println(client.Ping(ctx).Result())
	// Output: PONG <nil>
}
