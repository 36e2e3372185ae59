package designs

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
)

// userLock is the lock of a user as the tutorials write it: one key in Redis.
type userLock struct {
	redis redis.UniversalClient
	key   string
	token string // of this holder
}

func (s *stores) lockOf(o order.Order) userLock {
	key := s.Prefix + "design:lock:" + strconv.FormatInt(o.CouponID, 10) + ":" + strconv.FormatInt(o.UserID, 10)
	return userLock{s.Redis, key, rand.Text()}
}

// try takes the lock if it is free, for the time of the lease.
func (l userLock) try(ctx context.Context, lease time.Duration) (bool, error) {
	got, err := l.redis.SetNX(ctx, l.key, l.token, lease).Result()
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	return got, nil
}

// lock waits for the lock. It asks again every millisecond.
func (l userLock) lock(ctx context.Context, lease time.Duration) error {
	for {
		got, err := l.try(ctx, lease)
		if got || err != nil {
			return err
		}
		if err := rest(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// ownDelete deletes the key if it still has the token of its holder.
var ownDelete = redis.NewScript("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")

// unlock releases the lock if this holder still has it.
func (l userLock) unlock(ctx context.Context) error {
	if err := ownDelete.Run(context.WithoutCancel(ctx), l.redis, []string{l.key}, l.token).Err(); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

// remove deletes the key of any holder.
func (l userLock) remove(ctx context.Context) {
	_ = l.redis.Del(context.WithoutCancel(ctx), l.key).Err()
}
