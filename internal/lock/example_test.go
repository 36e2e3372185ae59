package lock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/seckill/internal/lock"
)

func ExampleLocker_Do() {
	ctx := context.Background()
	locker, err := lock.New(newMemory(), lock.Options{Lease: 10 * time.Second, Wait: time.Second})
	if err != nil {
		panic(err)
	}
	defer func() { _ = locker.Close(ctx) }()

	err = locker.Do(ctx, "user:42", func(ctx context.Context, lease *lock.Lease) error {
		// Begin a transaction on this ctx: if the lease is lost it rolls back.
		// Compare lease.Fence() with the one in the database, and commit.
		fmt.Println("holding", lease.Key(), "with fence", lease.Fence())
		return nil
	})
	fmt.Println("err:", err)
	// Output:
	// holding user:42 with fence 1
	// err: <nil>
}

func ExampleLocker_Do_nested() {
	ctx := context.Background()
	locker, _ := lock.New(newMemory(), lock.Options{Lease: 10 * time.Second})
	defer func() { _ = locker.Close(ctx) }()

	_ = locker.Do(ctx, "user:42", func(ctx context.Context, outer *lock.Lease) error {
		// On the context of the work, the same key is entered at once.
		return locker.Do(ctx, "user:42", func(_ context.Context, inner *lock.Lease) error {
			fmt.Println("same fence:", outer.Fence() == inner.Fence())
			return nil
		})
	})
	// Output: same fence: true
}

func ExampleLocker_Acquire() {
	ctx := context.Background()
	locker, _ := lock.New(newMemory(), lock.Options{Lease: 10 * time.Second})
	defer func() { _ = locker.Close(ctx) }()

	lease, _ := locker.Acquire(ctx, "worker:7")
	_, err := locker.Acquire(ctx, "worker:7") // no wait was asked for
	fmt.Println("not acquired:", errors.Is(err, lock.ErrNotAcquired))

	_ = lease.Release(ctx)
	fmt.Println("ended by:", context.Cause(lease.Context()))
	// Output:
	// not acquired: true
	// ended by: lock: not held
}

func ExampleErrOutcomeUnknown() {
	ctx := context.Background()
	backend := newMemory()
	locker, _ := lock.New(backend, lock.Options{Lease: 10 * time.Second})
	defer func() { _ = locker.Close(ctx) }()

	err := locker.Do(ctx, "user:42", func(context.Context, *lock.Lease) error {
		return fmt.Errorf("commit: connection reset: %w", lock.ErrOutcomeUnknown)
	})
	fmt.Println("unknown:", errors.Is(err, lock.ErrOutcomeUnknown))
	fmt.Println("still held:", backend.holds("user:42"))
	// Output:
	// unknown: true
	// still held: true
}
