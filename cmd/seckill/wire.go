package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"seckill/internal/config"
	"seckill/internal/embedded"
	"seckill/internal/idworker"
	"seckill/internal/lock"
	"seckill/internal/lock/nolock"
	"seckill/internal/lock/redislock"
	"seckill/internal/order"
	"seckill/internal/redisconn"
	"seckill/internal/store"
)

// This file holds the only switches over backends.

// openRedis connects to the configured Redis, or to the embedded one.
func openRedis(ctx context.Context, cfg config.Redis, in *embedded.Stores, log *slog.Logger) (redis.UniversalClient, error) {
	o := redisconn.Options{
		Mode: cfg.Mode, Addrs: cfg.Addrs, MasterName: cfg.MasterName, Username: cfg.Username,
		Password: cfg.Password.Reveal(), SentinelPassword: cfg.SentinelPassword.Reveal(), DB: cfg.DB, TLS: cfg.TLS,
		PoolSize: cfg.PoolSize, Timeout: cfg.Timeout, DialTimeout: cfg.DialTimeout, Logger: log,
	}
	if in != nil {
		o.Mode, o.Addrs = redisconn.Single, []string{in.RedisAddr()}
	}
	return redisconn.Open(ctx, o)
}

// openStore connects to the configured database, or to the embedded one.
func openStore(ctx context.Context, cfg config.Config, in *embedded.Stores, log *slog.Logger) (*store.Store, error) {
	o := store.Options{
		MySQL: cfg.MySQL.DSN.Reveal(), MaxOpen: cfg.MySQL.MaxOpen, MaxIdle: cfg.MySQL.MaxIdle,
		MaxLife: cfg.MySQL.MaxLifetime, TxTimeout: cfg.Order.TxTimeout, Log: log,
	}
	if in != nil {
		o.SQLite = in.SQLiteDSN()
	}
	return store.Open(ctx, o)
}

// lockBackend gives the backend that lock.backend names.
func lockBackend(cfg config.Lock, client redis.UniversalClient, log *slog.Logger) (lock.Backend, error) {
	switch cfg.Backend {
	case "redis":
		return redislock.New(client, redislock.Options{Logger: log}), nil
	case "none":
		return nolock.Backend{}, nil
	}
	return nil, usage(fmt.Errorf("lock.backend: %q is not built in", cfg.Backend))
}

// idMaker makes order ids and gives back what it leased.
type idMaker interface {
	order.IDs
	Close(ctx context.Context) error
}

// newIDs gives the generator that id.generator names.
func newIDs(ctx context.Context, cfg config.ID, client redis.UniversalClient, locker *lock.Locker, log *slog.Logger) (idMaker, error) {
	switch cfg.Generator {
	case "snowflake":
		return idworker.NewSnowflake(ctx, client, locker, idworker.Options{Logger: log})
	case "daily":
		return idworker.NewDaily(client), nil
	}
	return nil, usage(fmt.Errorf("id.generator: %q is not built in", cfg.Generator))
}
