package servers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Env is the servers of one run.
type Env struct {
	Dir     string // of their data, and of whatever else is to go with them
	MariaDB *MariaDB
	Redis   *Redis // the first that was started

	folders int
	stops   []func() error
}

// NewEnv makes the folder of an Env whose servers are still to be started, and removes those that killed
// runs of the name have left. After an error of a method the caller closes it as well.
func NewEnv(name string) (*Env, error) {
	dir, remove, err := NewFolder(os.TempDir(), name+"-")
	if err != nil {
		return nil, err
	}
	e := &Env{Dir: dir}
	e.OnClose(remove)
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
func (e *Env) StartMariaDB(ctx context.Context, settings ...Setting) (err error) {
	e.MariaDB, err = start(ctx, e, "mariadb", StartMariaDB, (*MariaDB).Kill, settings)
	return err
}

// StartReplicas starts a database on several servers, as StartSemiSync and StartGalera do.
// Its primary is the MariaDB.
func (e *Env) StartReplicas(ctx context.Context, by Starter[*Replicas], settings ...Setting) (*Replicas, error) {
	r, err := start(ctx, e, "replicas", by, (*Replicas).Stop, settings)
	if err != nil {
		return nil, err
	}
	e.MariaDB = r.Primary()
	return r, nil
}

// StartRedis starts one more Redis.
func (e *Env) StartRedis(ctx context.Context, settings ...Setting) (*Redis, error) {
	r, err := start(ctx, e, "redis", StartRedis, (*Redis).Kill, settings)
	if e.Redis == nil {
		e.Redis = r
	}
	return r, err
}

// StartCluster starts a Redis Cluster.
func (e *Env) StartCluster(ctx context.Context, settings ...Setting) (*Cluster, error) {
	return start(ctx, e, "cluster", StartCluster, (*Cluster).Stop, settings)
}

// StartEtcd starts an etcd.
func (e *Env) StartEtcd(ctx context.Context) (*Etcd, error) {
	return start(ctx, e, "etcd", StartEtcd, (*Etcd).Kill, nil)
}

// StartZooKeeper starts a ZooKeeper.
func (e *Env) StartZooKeeper(ctx context.Context) (*ZooKeeper, error) {
	return start(ctx, e, "zookeeper", StartZooKeeper, (*ZooKeeper).Kill, nil)
}

// Starter starts a server with its data in dir.
type Starter[S any] func(ctx context.Context, dir string, settings ...Setting) (S, error)

// start starts a server in a folder of its own. Close ends it at once: its data goes with it.
func start[S any](
	ctx context.Context, e *Env, name string, by Starter[S], end func(S) error, settings []Setting,
) (none S, _ error) {
	s, err := by(ctx, e.Folder(name), settings...)
	if err != nil {
		return none, err
	}
	e.OnClose(func() error { return end(s) })
	return s, nil
}

// Close ends everything, the last first, and removes the folder.
func (e *Env) Close() (err error) {
	for _, stop := range slices.Backward(e.stops) {
		err = errors.Join(err, stop())
	}
	e.stops = nil
	return err
}
