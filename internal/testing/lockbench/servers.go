package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/seckill/internal/lock/mysqllock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/tools/servers"
)

const masters = 5

// serverSet is every server of a run, and the tables in the database.
type serverSet struct {
	*servers.Env

	nodes []*servers.Redis // independent masters
	dsn   string
	etcd  *servers.Etcd
	zk    *servers.ZooKeeper

	fences *store.Store // of those locks that have none of their own
	db     *sql.DB      // for raw round trips and counters
}

func startServers(ctx context.Context) (_ *serverSet, err error) {
	set := &serverSet{}
	if set.Env, err = servers.NewEnv("seckill-lockbench"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := set.start(ctx); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return set, nil
}

func (set *serverSet) start(ctx context.Context) (err error) {
	if _, err = set.StartRedis(ctx); err != nil {
		return err
	}
	for range masters {
		n, err := set.StartRedis(ctx)
		if err != nil {
			return err
		}
		set.nodes = append(set.nodes, n)
	}
	if set.etcd, err = set.StartEtcd(ctx); err != nil {
		return err
	}
	if set.zk, err = set.StartZooKeeper(ctx); err != nil {
		return err
	}
	return set.openDatabase(ctx)
}

func (set *serverSet) openDatabase(ctx context.Context) (err error) {
	if err = set.StartMariaDB(ctx); err != nil {
		return err
	}
	name, err := set.MariaDB.CreateDatabase(ctx)
	if err != nil {
		return err
	}
	set.dsn = set.MariaDB.DSN(name)
	set.fences, err = store.Open(ctx, store.Options{MySQL: set.dsn, MaxOpen: 16, MaxIdle: 16, MaxLife: time.Hour, TxTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	set.OnClose(set.fences.Close)
	if _, err = set.fences.Migrate(ctx); err != nil {
		return err
	}
	if set.db, err = mysqllock.Open(set.dsn, 2); err != nil {
		return err
	}
	set.OnClose(set.db.Close)
	if _, err = set.db.ExecContext(ctx, "CREATE TABLE raw (id INT PRIMARY KEY, n BIGINT NOT NULL)"); err == nil {
		_, err = set.db.ExecContext(ctx, "INSERT INTO raw VALUES (1, 0)")
	}
	return err
}
