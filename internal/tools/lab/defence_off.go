package lab

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/nolock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/order"
)

// Each of these decorators removes one line of defence. The order path does not know them.

var quiet = slog.New(slog.DiscardHandler)

// longWait is longer than any step of a sale in the lab.
const longWait = 15 * time.Second

// shards is the stock without its account of the buyers.
type shards struct {
	order.Shards
	noAccount bool
}

// Reserve reserves without a limit per user.
func (s shards) Reserve(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	if s.noAccount {
		for i := range requests {
			requests[i].Limit = 1000
		}
	}
	return s.Shards.Reserve(ctx, requests)
}

// loader loads more units than there are, so that no counter runs out.
type loader struct {
	coupon.Shards
	noCounter bool
}

// Fill loads more units into the shards than the coupon has.
func (l loader) Fill(ctx context.Context, load coupon.Load) error {
	if l.noCounter {
		load.Units += 1000
	}
	return l.Shards.Fill(ctx, load)
}

// lockerWithout returns the locker of a process, one that admits every caller, or one whose leases are lost.
func lockerWithout(run *Run, off []defence, leasesLost bool, client *redis.Client) order.Locker {
	o := lock.Options{Lease: long, Wait: longWait}
	if slices.Contains(off, locking) {
		return noLocker{run.NewLocker(nolock.Backend{}, o).Locker}
	}
	locker := run.NewLocker(redislock.New(client, redislock.Options{}), o).Locker
	if leasesLost {
		return lossyLocker{locker, client}
	}
	return locker
}

// noLocker admits every caller: each request of a user is at another process, so none waits in it for another.
type noLocker struct{ *lock.Locker }

// AdvanceFence does nothing: there is no counter to raise, and the clock has passed it.
func (noLocker) AdvanceFence(context.Context, string, uint64) error { return nil }

// lossyLocker is a locker whose server forgets every lease, as after a failover, unnoticed by the
// holders.
type lossyLocker struct {
	*lock.Locker
	client *redis.Client
}

// Do runs the work after the key is gone.
func (f lossyLocker) Do(ctx context.Context, key string, work func(context.Context, *lock.Lease) error, opts ...lock.Option) error {
	return f.Locker.Do(ctx, key, func(ctx context.Context, lease *lock.Lease) error {
		var names []string
		for bucket := range 64 {
			names = append(names, fmt.Sprintf("seckill:{lock:%d}:%s", bucket, key))
		}
		if err := f.client.Del(ctx, names...).Err(); err != nil {
			return err
		}
		return work(ctx, lease)
	}, opts...)
}

// transactor begins transactions without some of their checks, in which the requests of one user
// meet after they have counted.
type transactor struct {
	order.Database
	off    []defence
	within time.Duration // how long a request waits for another
	slots  atomic.Int64

	mu  sync.Mutex
	met map[int64]chan struct{} // by user, while one request waits
}

// InTx implements order.Database on such transactions.
func (t *transactor) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	return t.Database.InTx(ctx, func(ctx context.Context, tx order.Tx) error { return work(ctx, labTx{tx, t}) })
}

// The time for which a request waits for another of its user: short where the other is refused
// earlier, long where nothing refuses it.
const (
	meetBriefly = 40 * time.Millisecond
	meetSurely  = 2 * time.Second
)

// meet waits until another request of the user has come as far.
func (t *transactor) meet(user int64) {
	t.mu.Lock()
	if other, here := t.met[user]; here {
		delete(t.met, user)
		close(other)
		t.mu.Unlock()
		return
	}
	mine := make(chan struct{})
	t.met[user] = mine
	t.mu.Unlock()
	select {
	case <-mine:
	case <-time.After(t.within):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.met[user] == mine {
		delete(t.met, user)
	}
}

// Place implements order.Committer statement by statement, so that each statement can be left out. The program sends
// the same statements in the same order, many orders together.
func (t *transactor) Place(ctx context.Context, all []*order.Attempt) {
	for _, a := range all {
		a.Err = t.InTx(ctx, func(ctx context.Context, tx order.Tx) (err error) {
			o := a.Order
			if err := tx.Fence(ctx, o.UserID, o.Fence); err != nil {
				return err
			}
			if o.Slot, err = tx.FreeSlot(ctx, o.CouponID, o.UserID, a.Sale.LimitPerUser); err != nil {
				return err
			}
			if err := tx.Insert(ctx, o); err != nil {
				return err
			}
			a.Order.Slot = o.Slot
			return tx.TakeOne(ctx, a.Sale)
		})
	}
}

// Held implements order.Committer: every order of the lab goes by itself.
func (*transactor) Held(int64) bool { return false }

type labTx struct {
	order.Tx
	t *transactor
}

// Fence does nothing if fencing is off.
func (x labTx) Fence(ctx context.Context, userID int64, fence uint64) error {
	if slices.Contains(x.t.off, fencing) {
		return nil
	}
	return x.Tx.Fence(ctx, userID, fence)
}

// FreeSlot counts the user's orders, and meets the other request.
func (x labTx) FreeSlot(ctx context.Context, couponID, userID int64, limit int) (int, error) {
	slot, err := x.Tx.FreeSlot(ctx, couponID, userID, limit)
	if err == nil {
		x.t.meet(userID)
	}
	return slot, err
}

// Insert uses a slot of its own if the index is off, so that the index refuses nothing.
func (x labTx) Insert(ctx context.Context, o order.Order) error {
	if slices.Contains(x.t.off, index) {
		o.Slot = 1000 + int(x.t.slots.Add(1))
	}
	return x.Tx.Insert(ctx, o)
}

// TakeOne does nothing if the conditional update is off.
func (x labTx) TakeOne(ctx context.Context, sale coupon.Coupon) error {
	if slices.Contains(x.t.off, update) {
		return nil
	}
	return x.Tx.TakeOne(ctx, sale)
}
