package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/platform/clock"
	"example.com/seckill/internal/platform/mysqlconn"
	"example.com/seckill/internal/platform/preflight"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/store"
)

// checkWithin is the time for all checks of the servers.
const checkWithin = 10 * time.Second

// Check is check without an App: a server that does not answer is refused.
func Check(ctx context.Context, cfg config.Config, log *slog.Logger, found *preflight.Findings) error {
	client, err := openRedis(ctx, cfg.Redis, nil, log, nil)
	if err != nil {
		return err
	}
	err = errors.Join(check(ctx, cfg, client, clock.New(nil), found), client.Close())
	if err != nil || len(found.Of(preflight.Refused)) > 0 {
		return err
	}
	return checkSchema(ctx, cfg, log, found)
}

// checkSchema refuses a database whose schema is not that of this program: serve does not start on it.
func checkSchema(ctx context.Context, cfg config.Config, log *slog.Logger, found *preflight.Findings) error {
	s, err := OpenStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	err = s.CheckSchema(ctx)
	if errors.Is(err, store.ErrSchemaOld) || errors.Is(err, store.ErrSchemaNew) || errors.Is(err, store.ErrSchemaTooOld) {
		found.Add(preflight.Finding{Server: preflight.Database, Name: "schema", Level: preflight.Refused, Found: err.Error()})
		err = nil
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	return nil
}

// check looks at Redis and the database, and sets the clock by them. It returns an error if one of them does not
// answer. The findings have the rest.
func check(ctx context.Context, cfg config.Config, client redis.UniversalClient, own *clock.Clock, found *preflight.Findings) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	err := redisconn.EachPrimary(ctx, client, redisName(cfg.Redis), found.Redis(preflight.RedisUse{
		Username: cfg.Redis.Username, Prefix: cfg.Redis.Prefix, PoolSize: cfg.Redis.PoolSize, Cluster: cfg.Redis.Mode == redisconn.Cluster,
	}))
	if err != nil {
		return fmt.Errorf("look at Redis: %w", err)
	}
	db, err := openCheck(cfg)
	if err != nil {
		return err
	}
	err = found.MySQL(ctx, db, connections(cfg))
	if err == nil {
		err = readClocks(ctx, own, client, redisName(cfg.Redis), databaseTime(db), func(r clock.Reading) { found.Add(preflight.Clock(r)) })
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	return nil
}

// openCheck opens a connection for the check.
func openCheck(cfg config.Config) (*sql.DB, error) {
	dsn, err := mysql.ParseDSN(cfg.MySQL.DSN.Reveal())
	if err != nil {
		return nil, Usage(errors.New("mysql.dsn cannot be parsed")) // the driver's error may quote the password
	}
	secure, err := clientTLS("mysql", cfg.MySQL.ClientTLS)
	if err != nil {
		return nil, err
	}
	if secure != nil {
		dsn.TLS = secure
	}
	dsn.ParseTime, dsn.Loc, dsn.Logger = true, time.UTC, &mysql.NopLogger{}
	connector, err := mysqlconn.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// longReads is how many connections an instance has for audits and loadings, in addition to the pool of orders.
const longReads = 2

// connections is how many an instance may have to the database.
func connections(cfg config.Config) int {
	n := cfg.MySQL.MaxOpen + longReads
	if cfg.Lock.Backend == "mysql" {
		n += cfg.MySQL.MaxOpen
	}
	return n
}

// redisName names the one Redis that there is without a Cluster.
func redisName(cfg config.Redis) string {
	if cfg.Mode == redisconn.Sentinel {
		return "master " + cfg.MasterName
	}
	return cfg.Addrs[0]
}

func databaseTime(db *sql.DB) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (now time.Time, err error) {
		err = db.QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&now)
		return now, err //nolint:wrapcheck // the clock says whose time it is
	}
}

// readClocks reads the clocks of all servers, tells of each, and sets own by them.
// A server that does not answer keeps none of the others from being read.
func readClocks(ctx context.Context, own *clock.Clock, client redis.UniversalClient, name string,
	database func(context.Context) (time.Time, error), tell func(clock.Reading),
) error {
	r, failed := own.Read(ctx, preflight.Database, database)
	if failed == nil {
		tell(r)
	}
	var one sync.Mutex
	err := redisconn.EachPrimary(ctx, client, name, func(ctx context.Context, name string, node redis.UniversalClient) error {
		r, err := own.Read(ctx, name, func(ctx context.Context) (time.Time, error) { return node.Time(ctx).Result() })
		if err == nil {
			one.Lock()
			defer one.Unlock()
			tell(r)
		}
		return err
	})
	own.Agree()
	return errors.Join(failed, err)
}
