// Package scale plays the way back at the size of a large sale, and measures it.
//
//	MariaDB ─▶ a million orders, filled in by SQL ─▶ publication ─▶ FLUSHALL, restore
//	                                                      └ another coupon sells meanwhile
//
// The orders are filled in by SQL and not bought: what is measured is what a sale of that
// size costs afterwards, and buying it would take most of an hour. All else is the
// program's own code on real servers.
package scale

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/coupon"
	"seckill/internal/redisconn"
	"seckill/internal/stock"
	"seckill/internal/store"
	"seckill/internal/testbed/servers"
)

// Shards is how many shards the coupons have.
const Shards = 8

// Env is the servers of a run and the program's code on them.
type Env struct {
	dir     string
	maria   *servers.MariaDB
	redis   *servers.Redis
	client  redis.UniversalClient
	store   *store.Store
	stock   *stock.Stock
	coupons *coupon.Service
	raw     *sql.DB // fills in
	stops   []func() error
}

// timeouts are those that README.md recommends.
const timeouts = "timeout=2s&readTimeout=2s&writeTimeout=2s"

// Open starts the servers.
func Open(ctx context.Context) (_ *Env, err error) {
	e := &Env{}
	if e.dir, err = os.MkdirTemp("", "seckill-scale-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	e.stops = append(e.stops, func() error { return os.RemoveAll(e.dir) })
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Env) start(ctx context.Context) (err error) {
	if e.maria, err = servers.StartMariaDB(ctx, filepath.Join(e.dir, "db"), servers.Set("innodb-buffer-pool-size", "512M")); err != nil {
		return err
	}
	e.stops = append(e.stops, e.maria.Stop)
	if e.redis, err = servers.StartRedis(ctx, filepath.Join(e.dir, "redis")); err != nil {
		return err
	}
	e.stops = append(e.stops, e.redis.Stop)
	name, err := e.maria.CreateDatabase(ctx)
	if err != nil {
		return err
	}
	if e.client, err = redisconn.Open(ctx, redisconn.Options{Addrs: []string{e.redis.Addr()}}); err != nil {
		return err
	}
	e.stops = append(e.stops, e.client.Close)
	e.store, err = store.Open(ctx, store.Options{
		MySQL: fmt.Sprintf("root@tcp(%s)/%s?%s", e.maria.Addr(), name, timeouts), MaxOpen: 64, MaxIdle: 64,
		MaxLife: 5 * time.Minute, TxTimeout: 2 * time.Second,
	})
	if err != nil {
		return err
	}
	e.stops = append(e.stops, e.store.Close)
	if _, err := e.store.Migrate(ctx); err != nil {
		return err
	}
	dsn := fmt.Sprintf("root@tcp(%s)/%s?timeout=2s&multiStatements=true&interpolateParams=true", e.maria.Addr(), name)
	if e.raw, err = sql.Open("mysql", dsn); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	e.stops = append(e.stops, e.raw.Close)
	e.stock = stock.New(e.client, time.Second)
	quiet := slog.New(slog.DiscardHandler)
	e.coupons = coupon.NewService(coupon.Deps{
		Repository: e.store.Coupons(), Loader: e.store.Coupons(), Shards: e.stock, Announcer: e.stock,
		Exclusive: alone, Cache: coupon.NewCache(e.store.Coupons(), time.Second, quiet), ShardCount: Shards, Log: quiet,
	})
	return nil
}

// alone is the lock of loadings where there is one instance.
func alone(ctx context.Context, _ int64, work func(context.Context) error) error { return work(ctx) }

// Close stops everything, the last first.
func (e *Env) Close() (err error) {
	for _, stop := range slices.Backward(e.stops) {
		err = errors.Join(err, stop())
	}
	e.stops = nil
	return err
}

// Sell announces a coupon of so many units.
func (e *Env) Sell(ctx context.Context, units int64) (coupon.Coupon, error) {
	now := time.Now()
	c, err := e.coupons.Create(ctx, coupon.Coupon{
		Title: "Half price", Total: units, LimitPerUser: 1, PriceCents: 199, BeginsAt: now.Add(-time.Hour), EndsAt: now.Add(24 * time.Hour),
	})
	if err != nil {
		return coupon.Coupon{}, fmt.Errorf("announce: %w", err)
	}
	return c, nil
}

// filled is how many orders one statement fills in.
const filled = 50_000

// Fill fills in so many paid orders of as many users, by SQL, and takes their units from
// the coupon's row.
func (e *Env) Fill(ctx context.Context, id, orders int64) error {
	const insert = `INSERT INTO orders
		(id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at)
		SELECT n.seq, ?, n.seq * 7919, 1, 'paid', 199, CONCAT('filled:', n.seq), 0, 1, NOW(3), NOW(3) FROM seq_%d_to_%d AS n;
		INSERT INTO fences (user_id, fence) SELECT n.seq * 7919, 1 FROM seq_%[1]d_to_%[2]d AS n`
	for from := int64(1); from <= orders; from += filled {
		to := min(from+filled-1, orders)
		if _, err := e.raw.ExecContext(ctx, fmt.Sprintf(insert, from, to), id); err != nil {
			return fmt.Errorf("fill in orders %d to %d: %w", from, to, err)
		}
	}
	if _, err := e.raw.ExecContext(ctx, "UPDATE coupons SET stock = total - ? WHERE id = ?", orders, id); err != nil {
		return fmt.Errorf("take the units: %w", err)
	}
	return nil
}

// Peak is the memory that the Go runtime has asked the system for.
func Peak() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys) //nolint:gosec // not so much
}
