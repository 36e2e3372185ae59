package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"seckill/internal/lock/mysqllock"
	"seckill/internal/store"
	"seckill/internal/testbed/servers"
)

const masters = 5

// serverSet is every server of a run, and the tables in the database.
type serverSet struct {
	dir   string
	redis *servers.Redis
	nodes []*servers.Redis // independent masters
	maria *servers.MariaDB
	dsn   string
	etcd  *servers.Etcd
	zk    *servers.ZooKeeper

	fences *store.Store // of those locks that have none of their own
	db     *sql.DB      // for raw round trips and counters
	stops  []func() error
}

func startServers(ctx context.Context) (_ *serverSet, err error) {
	set := &serverSet{}
	defer func() {
		if err != nil {
			err = errors.Join(err, set.close())
		}
	}()
	if set.dir, err = os.MkdirTemp("", "lockbench-"); err != nil {
		return nil, err
	}
	set.stops = append(set.stops, func() error { return os.RemoveAll(set.dir) })
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if set.redis, err = servers.StartRedis(ctx, filepath.Join(set.dir, "redis")); err != nil {
		return nil, err
	}
	set.stops = append(set.stops, set.redis.Stop)
	for i := range masters {
		n, err := servers.StartRedis(ctx, filepath.Join(set.dir, "node"+strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		set.nodes, set.stops = append(set.nodes, n), append(set.stops, n.Stop)
	}
	if set.etcd, err = servers.StartEtcd(ctx, filepath.Join(set.dir, "etcd")); err != nil {
		return nil, err
	}
	set.stops = append(set.stops, set.etcd.Stop)
	if set.zk, err = servers.StartZooKeeper(ctx, filepath.Join(set.dir, "zk")); err != nil {
		return nil, err
	}
	set.stops = append(set.stops, set.zk.Stop)
	return set, set.openDatabase(ctx)
}

func (set *serverSet) openDatabase(ctx context.Context) (err error) {
	if set.maria, err = servers.StartMariaDB(ctx, filepath.Join(set.dir, "maria")); err != nil {
		return err
	}
	set.stops = append(set.stops, set.maria.Stop)
	name, err := set.maria.CreateDatabase(ctx)
	if err != nil {
		return err
	}
	set.dsn = set.maria.DSN(name)
	set.fences, err = store.Open(ctx, store.Options{MySQL: set.dsn, MaxOpen: 16, MaxIdle: 16, MaxLife: time.Hour, TxTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	set.stops = append(set.stops, set.fences.Close)
	if _, err = set.fences.Migrate(ctx); err != nil {
		return err
	}
	if set.db, err = mysqllock.Open(set.dsn, 2); err != nil {
		return err
	}
	set.stops = append(set.stops, set.db.Close)
	if _, err = set.db.ExecContext(ctx, "CREATE TABLE raw (id INT PRIMARY KEY, n BIGINT NOT NULL)"); err == nil {
		_, err = set.db.ExecContext(ctx, "INSERT INTO raw VALUES (1, 0)")
	}
	return err
}

// close stops everything, the last first.
func (set *serverSet) close() (err error) {
	for _, stop := range slices.Backward(set.stops) {
		err = errors.Join(err, stop())
	}
	set.stops = nil
	return err
}
