package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// storeState is what the stores hold of one coupon, read beside the program: it may not
// be its own judge.
type storeState struct {
	total, stock int64 // T, D
	limit        int
	epoch        int64
	orders       map[int64]row // committed, not the void ones
	returns      int           // G, as rows of the outbox
	units        int64         // R
	holds        int           // h, with marks and shares: anything that is open
	entries      int64         // of the queues
	loaded       bool          // every shard has the coupon's epoch and a counter
	negative     bool          // a shard is below 0
}

type row struct {
	user   int64
	status string
}

func (t storeState) live() (n int64) {
	for _, o := range t.orders {
		if o.live() {
			n++
		}
	}
	return n
}

func (o row) live() bool { return o.status == "pending" || o.status == "paid" }

// above is how many orders users have above their limit.
func (t storeState) above() (n int) {
	of := map[int64]int{}
	for _, o := range t.orders {
		if o.live() {
			if of[o.user]++; of[o.user] > t.limit {
				n++
			}
		}
	}
	return n
}

func (t storeState) pending() (n int) {
	for _, o := range t.orders {
		if o.status == "pending" {
			n++
		}
	}
	return n
}

// rest says what is still on its way, or nil.
func (t storeState) rest() error {
	switch {
	case !t.loaded:
		return errors.New("the shards are not loaded with the coupon's epoch")
	case t.holds > 0 || t.returns > 0 || t.units != t.stock:
		return fmt.Errorf("units are on their way: R %d, D %d, h %d, G %d", t.units, t.stock, t.holds, t.returns)
	}
	if t.entries > 0 {
		return fmt.Errorf("%d entries are in the queues", t.entries)
	}
	return nil
}

// broken says what is wrong in the database alone, which at no moment may be so.
func (t storeState) broken() error {
	switch {
	case t.stock < 0 || t.stock+t.live() != t.total:
		return fmt.Errorf("in the database D %d + A %d, and T is %d", t.stock, t.live(), t.total)
	case t.above() > 0:
		return fmt.Errorf("%d orders are above the limit", t.above())
	}
	return nil
}

// readState reads the database at one moment and then Redis.
func (b *environment) readState(ctx context.Context, coupon string) (t storeState, err error) {
	t.orders = map[int64]row{}
	tx, err := b.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return t, fmt.Errorf("read the database: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it has written nothing
	shards := 0
	if err := tx.QueryRowContext(ctx, "SELECT total, stock, limit_per_user, epoch, shards FROM coupons WHERE id = ?", coupon).
		Scan(&t.total, &t.stock, &t.limit, &t.epoch, &shards); err != nil {
		return t, fmt.Errorf("read the coupon: %w", err)
	}
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM stock_returns WHERE coupon_id = ?", coupon).Scan(&t.returns); err != nil {
		return t, fmt.Errorf("read the outbox: %w", err)
	}
	if err := t.readOrders(ctx, tx, coupon); err != nil {
		return t, err
	}
	return t, t.readShards(ctx, b.rdb, coupon, shards)
}

func (b *environment) epoch(ctx context.Context, coupon string) (epoch int64, err error) {
	if err := b.db.QueryRowContext(ctx, "SELECT epoch FROM coupons WHERE id = ?", coupon).Scan(&epoch); err != nil {
		return 0, fmt.Errorf("read the epoch: %w", err)
	}
	return epoch, nil
}

func (t *storeState) readOrders(ctx context.Context, tx *sql.Tx, coupon string) error {
	rows, err := tx.QueryContext(ctx, "SELECT id, user_id, status FROM orders WHERE coupon_id = ? AND status <> 'void'", coupon)
	if err != nil {
		return fmt.Errorf("read the orders: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var o row
		if err := rows.Scan(&id, &o.user, &o.status); err != nil {
			return fmt.Errorf("read the orders: %w", err)
		}
		t.orders[id] = o
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the orders: %w", err)
	}
	return nil
}

// shardKeys is what the keys of a shard begin with.
func shardKeys(coupon string, shard int) string {
	return "seckill:{" + coupon + ":" + strconv.Itoa(shard) + "}:"
}

func (t *storeState) readShards(ctx context.Context, rdb redis.UniversalClient, coupon string, shards int) error {
	t.loaded = shards > 0
	type reading struct {
		counter       *redis.StringCmd
		epoch         *redis.StringCmd
		holds, queued *redis.IntCmd
	}
	all := make([]reading, shards)
	_, _ = rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for k := range shards {
			tag := shardKeys(coupon, k)
			all[k] = reading{p.Get(ctx, tag+"stock"), p.HGet(ctx, tag+"meta", "epoch"), p.HLen(ctx, tag+"holds"), p.XLen(ctx, tag+"queue")}
		}
		return nil
	}) // each command has its own error
	for _, of := range all {
		counter := of.counter
		units, err := counter.Int64()
		switch {
		case errors.Is(err, redis.Nil), counter.Val() == "closed":
			t.loaded = false
			continue
		case err != nil:
			return fmt.Errorf("read Redis: %w", err)
		}
		holds, err := of.holds.Result()
		if err != nil {
			return fmt.Errorf("read Redis: %w", err)
		}
		entries, err := of.queued.Result()
		if err != nil {
			return fmt.Errorf("read Redis: %w", err)
		}
		epoch, err := of.epoch.Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("read Redis: %w", err)
		}
		t.units += units
		t.entries += entries
		t.holds += int(max(0, holds-1)) // without the mark that tells an empty shard from a lost one
		t.negative = t.negative || units < 0
		t.loaded = t.loaded && epoch == t.epoch
	}
	return nil
}

// report is the program's own audit.
type report struct {
	Clean      bool     `json:"clean"`
	Settled    bool     `json:"settled"`
	Violations []string `json:"violations"`
}

func (r report) String() string {
	if r.Clean && r.Settled {
		return "clean"
	}
	return fmt.Sprintf("clean %t, settled %t %s", r.Clean, r.Settled, strings.Join(r.Violations, "; "))
}
