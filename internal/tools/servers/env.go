package servers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Env holds the servers of one run.
type Env struct {
	Dir     string // the folder of their data, and of other files that Close removes
	MariaDB *MariaDB
	Redis   *Redis // the first Redis that was started

	folders int
	stops   []func() error
}

// NewEnv returns an Env with its folder, and starts no server. It removes the folders of the same name that
// killed runs have left. After an error of a method, the caller must still close the Env.
func NewEnv(name string) (*Env, error) {
	dir, remove, err := NewFolder(os.TempDir(), name+"-")
	if err != nil {
		return nil, err
	}
	e := &Env{Dir: dir}
	e.OnClose(remove)
	return e, nil
}

// OnClose makes Close call stop, before Close stops the servers that were started earlier.
func (e *Env) OnClose(stop func() error) { e.stops = append(e.stops, stop) }

// Folder returns a new path for the data of a server.
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

// start starts a server in a folder of its own. Close ends the server at once, because Close also removes
// its data.
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

// Close ends all servers, the last first, and removes the folder.
func (e *Env) Close() (err error) {
	for _, stop := range slices.Backward(e.stops) {
		err = errors.Join(err, stop())
	}
	e.stops = nil
	return err
}
