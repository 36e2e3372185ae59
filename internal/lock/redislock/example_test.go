package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
)

// Two processes with a locker each exclude one another, and every holder has a larger fence
// than the one before.
func ExampleNew() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	process := func() *lock.Locker {
		locker, err := lock.New(redislock.New(client, redislock.Options{}), lock.Options{Lease: 10 * time.Second})
		if err != nil {
			panic(err)
		}
		return locker
	}
	one, other := process(), process()
	defer func() { _ = errors.Join(one.Close(ctx), other.Close(ctx)) }()

	first, err := one.Acquire(ctx, "user:42")
	fmt.Println("one:", err)
	_, err = other.Acquire(ctx, "user:42") // no wait is configured
	fmt.Println("other:", errors.Is(err, lock.ErrNotAcquired))

	_ = first.Release(ctx)
	second, err := other.Acquire(ctx, "user:42")
	fmt.Println("other:", err, second.Fence() > first.Fence())
	_ = second.Release(ctx)
	// Output:
	// one: <nil>
	// other: true
	// other: <nil> true
}
