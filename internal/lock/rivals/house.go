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
	"seckill/internal/servers"
	"seckill/internal/store"
)

const masters = 5

// house is every server of a run, and the tables in the database.
type house struct {
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

func openHouse(ctx context.Context) (_ *house, err error) {
	h := &house{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.dir, err = os.MkdirTemp("", "rivals-"); err != nil {
		return nil, err
	}
	h.stops = append(h.stops, func() error { return os.RemoveAll(h.dir) })
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if h.redis, err = servers.StartRedis(ctx, filepath.Join(h.dir, "redis")); err != nil {
		return nil, err
	}
	h.stops = append(h.stops, h.redis.Stop)
	for i := range masters {
		n, err := servers.StartRedis(ctx, filepath.Join(h.dir, "node"+strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		h.nodes, h.stops = append(h.nodes, n), append(h.stops, n.Stop)
	}
	if h.etcd, err = servers.StartEtcd(ctx, filepath.Join(h.dir, "etcd")); err != nil {
		return nil, err
	}
	h.stops = append(h.stops, h.etcd.Stop)
	if h.zk, err = servers.StartZooKeeper(ctx, filepath.Join(h.dir, "zk")); err != nil {
		return nil, err
	}
	h.stops = append(h.stops, h.zk.Stop)
	return h, h.openDatabase(ctx)
}

func (h *house) openDatabase(ctx context.Context) (err error) {
	if h.maria, err = servers.StartMariaDB(ctx, filepath.Join(h.dir, "maria")); err != nil {
		return err
	}
	h.stops = append(h.stops, h.maria.Stop)
	name, err := h.maria.CreateDatabase(ctx)
	if err != nil {
		return err
	}
	h.dsn = h.maria.DSN(name)
	h.fences, err = store.Open(ctx, store.Options{MySQL: h.dsn, MaxOpen: 16, MaxIdle: 16, MaxLife: time.Hour, TxTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	h.stops = append(h.stops, h.fences.Close)
	if _, err = h.fences.Migrate(ctx); err != nil {
		return err
	}
	if h.db, err = mysqllock.Open(h.dsn, 2); err != nil {
		return err
	}
	h.stops = append(h.stops, h.db.Close)
	if _, err = h.db.ExecContext(ctx, "CREATE TABLE raw (id INT PRIMARY KEY, n BIGINT NOT NULL)"); err == nil {
		_, err = h.db.ExecContext(ctx, "INSERT INTO raw VALUES (1, 0)")
	}
	return err
}

// close stops everything, the last first.
func (h *house) close() (err error) {
	for _, stop := range slices.Backward(h.stops) {
		err = errors.Join(err, stop())
	}
	h.stops = nil
	return err
}
