package designs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// decrThenQueue counts in Redis, answers, and lets a worker write the order later.
//
// It is the usual answer of tutorials: one Lua script checks stock and buyer, lowers the counter and adds an entry to a
// stream. The buyer has the order's id at once. A consumer group acknowledges an entry after the commit, and another
// worker claims the entry of a worker that died.
//
// Right as long as Redis keeps its data: nothing is oversold, and a killed program loses nothing. But the answer
// promises an order that only Redis knows. If Redis dies and comes back without the last entries, acknowledged orders
// are lost: after a crash without persistence, a failover or a loss of power. A unit that comes back is not sold again
// before Redis is loaded again.
//
// Redis' documentation of WAIT says that acknowledged writes can be lost in a failover. The experiment failover of the
// lab shows the same loss for a lock.
var decrThenQueue = Design{
	Name: "decr-then-queue", Experiment: "failover",
	Source: "https://redis.io/docs/latest/commands/wait/",
	make:   func(s *stores) maker { return &queueMaker{s, newStream(s.Redis, s.Prefix+"{design}:")} },
}

type queueMaker struct {
	*stores
	*stream // of all coupons
}

// keys returns the keys of the scripts. All of them share a slot of a Cluster.
func (m *queueMaker) keys(couponID int64) []string {
	of := m.Prefix + "{design}:" + strconv.FormatInt(couponID, 10)
	return []string{m.entries, of + ":stock", of + ":bought", m.accepted}
}

// The scripts return a word for each outcome.
var (
	reserveScript = redis.NewScript(`
		local stock = redis.call('GET', KEYS[2])
		if not stock then return 'not loaded' end
		if tonumber(redis.call('HGET', KEYS[3], ARGV[1]) or 0) >= tonumber(ARGV[2]) then return 'limit' end
		if tonumber(stock) <= 0 then return 'sold out' end
		redis.call('DECR', KEYS[2])
		redis.call('HINCRBY', KEYS[3], ARGV[1], 1)
		redis.call('HSET', KEYS[4], ARGV[3], ARGV[5], ARGV[4], ARGV[5])
		redis.call('XADD', KEYS[1], '*', 'order', ARGV[5])
		return 'accepted'`)
	loadScript = redis.NewScript(`
		if redis.call('EXISTS', KEYS[2]) == 1 then return 'loaded before' end
		redis.call('SET', KEYS[2], ARGV[1])
		for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1]) end
		return 'loaded'`)
)

// Prepare loads stock and buyers into Redis, unless they are there.
func (m *queueMaker) Prepare(ctx context.Context, couponID int64) error {
	sold, err := m.readSold(ctx, couponID)
	if err != nil {
		return err
	}
	args := []any{sold.left}
	for user, orders := range sold.orders {
		args = append(args, user, orders)
	}
	if err := loadScript.Run(ctx, m.Redis, m.keys(couponID), args...).Err(); err != nil {
		return fmt.Errorf("load coupon %d: %w", couponID, err)
	}
	return nil
}

// Make reserves in Redis and answers. If Redis has lost the coupon, it is loaded first.
func (m *queueMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	text, err := json.Marshal(o) //nolint:musttag // only this program reads it
	for err == nil {
		var said string
		said, err = reserveScript.Run(ctx, m.Redis, m.keys(sale.ID), o.UserID, sale.LimitPerUser, o.ID, o.RequestID, text).Text()
		switch said {
		case "limit":
			return order.ErrLimitReached
		case "sold out":
			return coupon.ErrSoldOut
		case "accepted":
			return nil
		case "not loaded":
			err = m.Prepare(ctx, sale.ID)
		}
	}
	return fmt.Errorf("reserve: %w", err)
}

// Start starts the worker.
func (m *queueMaker) Start(context.Context) error {
	m.run(m.Log, m.work)
	return nil
}

// work inserts a batch of orders in one transaction, and then acknowledges the entries. If the transaction fails, each
// order gets a transaction of its own. An order that the database rejects is dropped, although its buyer has an answer.
func (m *queueMaker) work(ctx context.Context) error {
	batch, err := m.read(ctx)
	if err != nil || len(batch) == 0 {
		return err
	}
	if m.insertAll(ctx, batch) == nil {
		return m.acknowledge(ctx, batch...)
	}
	for _, one := range batch {
		failed := m.insertAll(ctx, []entry{one})
		if errors.Is(failed, coupon.ErrSoldOut) || errors.Is(failed, order.ErrLimitReached) {
			m.Log.ErrorContext(ctx, "acknowledged order rejected", "order", one.order.ID, "error", failed)
			failed = nil
		}
		if failed == nil {
			failed = m.acknowledge(ctx, one)
		}
		err = errors.Join(err, failed) // the entry is claimed again
	}
	return err
}

// insertAll inserts orders and takes their units. It leaves out an order that was inserted before.
func (m *queueMaker) insertAll(ctx context.Context, batch []entry) error {
	return m.inTx(ctx, func(tx *sql.Tx) error {
		for _, one := range batch {
			sale, err := m.Sales.Get(ctx, one.order.CouponID)
			if err == nil {
				err = insertNext(ctx, tx, sale, one.order)
			}
			if err == nil {
				err = takeUnit(ctx, tx, sale.ID)
			}
			if err != nil && !errors.Is(err, order.ErrDuplicate) {
				return fmt.Errorf("order %d: %w", one.order.ID, err)
			}
		}
		return nil
	})
}
