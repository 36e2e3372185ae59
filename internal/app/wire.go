package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/admission"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/idworker"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/etcdlock"
	"example.com/seckill/internal/lock/mysqllock"
	"example.com/seckill/internal/lock/nolock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/lock/redlock"
	"example.com/seckill/internal/lock/zklock"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/observe/tracing"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
)

// This file holds the only switches over backends.

// openRedis connects to the configured Redis, or to the embedded one.
func openRedis(ctx context.Context, cfg config.Redis, in *embedded.Stores, log *slog.Logger,
	away func(server string, away bool),
) (redis.UniversalClient, error) {
	secure, err := clientTLS("redis", cfg.ClientTLS)
	if err != nil {
		return nil, err
	}
	o := redisconn.Options{
		OnBreakerChange: away,
		Mode:            cfg.Mode, Addrs: cfg.Addrs, MasterName: cfg.MasterName, Username: cfg.Username,
		Password: cfg.Password.Reveal(), DB: cfg.DB, TLS: secure,
		SentinelUsername: cfg.SentinelUsername, SentinelPassword: cfg.SentinelPassword.Reveal(),
		PoolSize: cfg.PoolSize, Timeout: cfg.Timeout, DialTimeout: cfg.DialTimeout, Logger: log,
	}
	if in != nil {
		o.Mode, o.Addrs = redisconn.Single, []string{in.RedisAddr()}
	}
	return redisconn.Open(ctx, o)
}

// OpenStore connects to the configured database, and never to the embedded one.
func OpenStore(ctx context.Context, cfg config.Config, log *slog.Logger) (*store.Store, error) {
	return openStore(ctx, cfg, nil, log, nil)
}

// openStore connects to the configured database, or to the embedded one.
func openStore(ctx context.Context, cfg config.Config, in *embedded.Stores, log *slog.Logger,
	away func(server string, away bool),
) (*store.Store, error) {
	secure, err := clientTLS("mysql", cfg.MySQL.ClientTLS)
	if err != nil {
		return nil, err
	}
	o := store.Options{
		TLS: secure, MySQL: cfg.MySQL.DSN.Reveal(), MaxOpen: cfg.MySQL.MaxOpen, MaxIdle: cfg.MySQL.MaxIdle,
		MaxLife: cfg.MySQL.MaxLifetime, TxTimeout: cfg.Order.TxTimeout, Log: log, OnBreakerChange: away, Now: faults.Now,
	}
	if in != nil {
		o.SQLite = in.SQLiteDSN()
	}
	return store.Open(ctx, o)
}

// newCommitter returns the committer of order.batch_size. With order.batch_size: 1 each order has its own
// transaction. In this case half of the connections commit at once, and the other half is for reads.
func newCommitter(cfg config.Config, db *store.Store, m *metrics.Metrics, t *tracing.Traces) order.Committer {
	o := store.CommitOptions{OnCommit: m.ObserveGroupCommit, OnTransaction: t.OnTransaction()}
	if cfg.Order.BatchSize == 1 {
		o.AtOnce = max(1, cfg.MySQL.MaxOpen/2)
	}
	return db.Committer(o)
}

// unitsPerShard returns the most units of a coupon in one shard, or 0 without a bound. In mode queue each shard has a
// queue of its own, and an entry of the queue has a unit. So the queue of a shard with fewer units is never full.
func unitsPerShard(o config.Order) int64 {
	if o.Mode == "queue" {
		return int64(o.QueueCapacity)
	}
	return 0
}

// newAdmission returns the limit on concurrent orders, or nil in mode queue. In mode queue the server answers
// a request before the commit, and workerConcurrency bounds the load.
func newAdmission(cfg config.Config, m *metrics.Metrics) order.Admission {
	if cfg.Order.Mode == "queue" {
		return nil
	}
	most, least := cfg.Admission.MaxConcurrent, cfg.Admission.MaxConcurrent/2
	if cfg.Order.BatchSize == 1 {
		// Each order takes a connection to the database, and payments also need some.
		most = min(most, cfg.MySQL.MaxOpen*3/4)
		least = most / 4
	}
	a := admission.New(admission.Options{
		MinConcurrent: max(1, least), MaxConcurrent: max(1, most), MaxWaiting: cfg.Admission.MaxWaiting, MaxWait: cfg.Admission.MaxWait,
		MinBudget: cfg.HTTP.RequestTimeout / 4, OnRefused: m.ObserveRefusal,
	})
	m.WatchAdmission(a.Limit, a.InFlight, a.Waiting)
	return a
}

// newShardQueue returns the queues of order.mode queue, or nil in mode sync. In mode sync the server commits
// every order before it answers. In mode queue a worker claims an entry from another instance that has had
// the entry for longer than a transaction may take.
func newShardQueue(cfg config.Order, s *stock.Stock) order.Queue {
	if cfg.Mode != "queue" {
		return nil
	}
	return s.Queue(rand.Text(), cfg.TxTimeout+time.Second)
}

// newLottery returns the draws around the order service, or nil with order.queue_order: fifo. With fifo the
// instance serves the requests themselves.
func newLottery(
	cfg config.Order, orders *order.Service, d order.Deps, draws lottery.Draws, queues lottery.Queues,
) *lottery.Service {
	if cfg.QueueOrder != "lottery" {
		return nil
	}
	return lottery.New(lottery.Deps{
		Orders: orders, Draws: draws, Rows: d.DB, Sales: d.Sales, Stock: d.Shards, Queues: queues,
		Window: cfg.LotteryWindow, PaymentTimeout: d.PaymentTimeout, Now: d.Now, Log: d.Log,
	})
}

// makesDraws returns a function that makes the draw of a coupon before the coupon goes on sale, or nil with
// order.queue_order: fifo.
func makesDraws(cfg config.Order, draws lottery.Draws) func(ctx context.Context, couponID int64) error {
	if cfg.QueueOrder != "lottery" {
		return nil
	}
	return func(ctx context.Context, couponID int64) error { return lottery.MakeDraw(ctx, draws, couponID) }
}

// heldPolls returns the number of polls of queued orders that the server holds at once. It is an eighth of
// the requests in flight, so that other requests find a place.
func heldPolls(maxInFlight int) int {
	if maxInFlight == 0 { // no limit
		return 512
	}
	return max(1, maxInFlight/8)
}

// openLockBackend returns the backend that lock.backend names, and a function that closes it.
func openLockBackend(
	cfg config.Config, client redis.UniversalClient, scripts redis.Scripter, db *store.Store, log *slog.Logger,
) (lock.Backend, func() error, error) {
	nothing := func() error { return nil }
	switch cfg.Lock.Backend {
	case "redis":
		o := redislock.Options{Scripter: scripts, Fair: cfg.Lock.Fair, Prefix: cfg.Redis.Prefix, Logger: log}
		return redislock.New(client, o), nothing, nil
	case "redlock":
		return openRedlock(cfg, db, log)
	case "mysql":
		secure, err := clientTLS("mysql", cfg.MySQL.ClientTLS)
		if err != nil {
			return nil, nil, err
		}
		pool, err := mysqllock.OpenTLS(cfg.MySQL.DSN.Reveal(), secure, cfg.MySQL.MaxOpen)
		if err != nil {
			return nil, nil, err
		}
		return mysqllock.NewLeaseRow(pool), pool.Close, nil
	case "etcd", "zookeeper":
		return openLockServers(cfg, log)
	case "none":
		return nolock.Backend{}, nothing, nil
	}
	return nil, nil, Usage(fmt.Errorf("lock.backend: %q is not built in", cfg.Lock.Backend))
}

// openLockServers connects to servers that only keep locks: etcd or ZooKeeper.
func openLockServers(all config.Config, log *slog.Logger) (lock.Backend, func() error, error) {
	cfg := all.Lock
	secure, err := clientTLS("lock", cfg.ClientTLS)
	if err != nil {
		return nil, nil, err
	}
	if cfg.Backend == "etcd" {
		b, err := etcdlock.Connect(cfg.Addrs, etcdlock.Options{
			Prefix: all.LockPrefix() + "/lock/", TLS: secure,
			Username: cfg.Username, Password: cfg.Password.Reveal(), Logger: log,
		})
		if err != nil {
			return nil, nil, lockError(context.Background(), cfg, err)
		}
		return b, b.Close, nil
	}
	b, err := zklock.Connect(cfg.Addrs, zklock.Options{
		Root: "/" + all.LockPrefix(), TLS: secure,
		Username: cfg.Username, Password: cfg.Password.Reveal(), Logger: log,
	})
	if err != nil {
		return nil, nil, err
	}
	return b, b.Close, nil
}

// openRedlock connects to each of the independent masters. A minority of them may be down.
// The fences come from the database, because independent masters have no common counter.
func openRedlock(cfg config.Config, db *store.Store, log *slog.Logger) (lock.Backend, func() error, error) {
	secure, err := clientTLS("redis", cfg.Redis.ClientTLS)
	if err != nil {
		return nil, nil, err
	}
	var nodes []redis.UniversalClient
	closeAll := func() (err error) {
		for _, n := range nodes {
			err = errors.Join(err, n.Close())
		}
		return err
	}
	for _, addr := range cfg.Lock.Addrs {
		n, err := redisconn.Dial(redisconn.Options{
			Addrs: []string{addr}, Password: cfg.Redis.Password.Reveal(), Username: cfg.Redis.Username, TLS: secure,
			PoolSize: cfg.Redis.PoolSize, Timeout: cfg.Redis.Timeout, DialTimeout: cfg.Redis.DialTimeout, Logger: log,
		})
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("lock.addrs: %w", err), closeAll())
		}
		nodes = append(nodes, n)
	}
	b, err := redlock.New(nodes, redlock.Options{Fencer: db, Prefix: cfg.Redis.Prefix, NodeTimeout: cfg.Lock.NodeTimeout})
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	return b, func() error { b.Close(); return closeAll() }, nil
}

// idGenerator makes order ids. Close releases the worker number that it leased.
type idGenerator interface {
	order.IDs
	Close(ctx context.Context) error
}

// newIDs returns the generator that id.generator names.
func newIDs(
	ctx context.Context, cfg config.ID, client redis.UniversalClient, prefix string, locker *lock.Locker, log *slog.Logger,
) (idGenerator, error) {
	switch cfg.Generator {
	case "snowflake":
		return idworker.NewSnowflake(ctx, client, locker, idworker.Options{Prefix: prefix, Logger: log, Now: faults.Now})
	case "daily":
		return idworker.NewDaily(client, prefix), nil
	}
	return nil, Usage(fmt.Errorf("id.generator: %q is not built in", cfg.Generator))
}
