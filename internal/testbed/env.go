// Package testbed is what the tools and the tests run on.
//
//	Env ─▶ servers   real servers in one folder, stopped together, the last first
//	machine.go       what a figure was measured on
//
// Package servers starts them, testservers lends them to tests, and failpoint breaks single
// calls to them. What is not promised: a server that its user stops or kills may be stopped
// again by Close, which is harmless.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"seckill/internal/testbed/servers"
)

// Env is the servers of one run.
type Env struct {
	Dir     string // of their data, and of whatever else is to go with them
	MariaDB *servers.MariaDB
	Redis   *servers.Redis // the first that was started

	folders int
	stops   []func() error
}

// NewEnv makes the folder of an Env whose servers are still to be started. After an error of
// a method the caller closes it as well.
func NewEnv(name string) (*Env, error) {
	dir, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the servers: %w", err)
	}
	e := &Env{Dir: dir}
	e.OnClose(func() error { return os.RemoveAll(dir) })
	return e, nil
}

// OnClose has Close call stop before whatever was started earlier is stopped.
func (e *Env) OnClose(stop func() error) { e.stops = append(e.stops, stop) }

// Folder returns a new name for the data of a server.
func (e *Env) Folder(name string) string {
	e.folders++
	return filepath.Join(e.Dir, name+strconv.Itoa(e.folders))
}

// StartMariaDB starts the MariaDB.
func (e *Env) StartMariaDB(ctx context.Context, settings ...servers.Setting) (err error) {
	e.MariaDB, err = keep(e, "mariadb", func(dir string) (*servers.MariaDB, error) { return servers.StartMariaDB(ctx, dir, settings...) })
	return err
}

// StartRedis starts one more Redis.
func (e *Env) StartRedis(ctx context.Context, settings ...servers.Setting) (*servers.Redis, error) {
	r, err := keep(e, "redis", func(dir string) (*servers.Redis, error) { return servers.StartRedis(ctx, dir, settings...) })
	if e.Redis == nil {
		e.Redis = r
	}
	return r, err
}

// StartEtcd starts an etcd.
func (e *Env) StartEtcd(ctx context.Context) (*servers.Etcd, error) {
	return keep(e, "etcd", func(dir string) (*servers.Etcd, error) { return servers.StartEtcd(ctx, dir) })
}

// StartZooKeeper starts a ZooKeeper.
func (e *Env) StartZooKeeper(ctx context.Context) (*servers.ZooKeeper, error) {
	return keep(e, "zookeeper", func(dir string) (*servers.ZooKeeper, error) { return servers.StartZooKeeper(ctx, dir) })
}

type stopper interface{ Stop() error }

// keep starts a server in a folder of its own, which Close stops.
func keep[S stopper](e *Env, name string, start func(dir string) (S, error)) (none S, _ error) {
	s, err := start(e.Folder(name))
	if err != nil {
		return none, err
	}
	e.OnClose(s.Stop)
	return s, nil
}

// Close stops everything, the last first, and removes the folder.
func (e *Env) Close() (err error) {
	for _, stop := range slices.Backward(e.stops) {
		err = errors.Join(err, stop())
	}
	e.stops = nil
	return err
}
