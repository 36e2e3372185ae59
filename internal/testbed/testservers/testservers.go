// Package testservers lends real servers to tests.
//
//	func TestMain(m *testing.M) { testservers.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		db, err := sql.Open("mysql", testservers.DSN(t)) // an empty database of its own
//
// There are two kinds. MariaDB, Redis, Cluster, Sentinel, Etcd and ZooKeeper are shared by all
// tests of the process, started on first use and stopped by Main: a test uses keys of its own
// there, and leaves the server running. The others, NewMariaDB and so on, are private, and end with
// their test, which may kill, pause and restart them or flush them.
//
// What is promised: the servers are real. A test that cannot have one, because it is not installed
// or because of -short, is skipped with the reason; `make test` installs them and treats a skipped
// test as a failure. Main reports every goroutine that the tests leaked.
package testservers

import (
	"context"
	"sync"
	"testing"
	"time"

	"seckill/internal/testbed/faultnet"
	"seckill/internal/testbed/servers"
)

const startWithin = time.Minute

// MariaDB returns the process's shared MariaDB. Use DSN for a database of your own.
func MariaDB(t testing.TB) *servers.MariaDB {
	t.Helper()
	return get(t, mariaDB)
}

// Redis returns the process's shared Redis, with the keys of other tests in it.
func Redis(t testing.TB) *servers.Redis {
	t.Helper()
	return get(t, redis)
}

// Cluster returns the process's shared Redis Cluster, with the keys of other tests in it.
func Cluster(t testing.TB) *servers.Cluster {
	t.Helper()
	return get(t, cluster)
}

// Sentinel returns the process's shared Redis servers under Sentinel, with the keys of other tests
// in them.
func Sentinel(t testing.TB) *servers.Sentinel {
	t.Helper()
	return get(t, sentinel)
}

// Etcd returns the process's shared etcd, with the keys of other tests in it.
func Etcd(t testing.TB) *servers.Etcd {
	t.Helper()
	return get(t, etcd)
}

// ZooKeeper returns the process's shared ZooKeeper, with the nodes of other tests in it.
func ZooKeeper(t testing.TB) *servers.ZooKeeper {
	t.Helper()
	return get(t, zooKeeper)
}

// Proxy returns a proxy in front of a server, or of several whose addresses are separated by commas.
// It is closed when the test ends.
func Proxy(t testing.TB, upstream string) *faultnet.Proxy {
	t.Helper()
	p, err := faultnet.New(upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// DSN returns the data source name of a new, empty database on the shared MariaDB. It is dropped
// when the test ends.
func DSN(t testing.TB) string {
	t.Helper()
	m := MariaDB(t)
	name, err := m.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), startWithin)
		defer cancel()
		if err := m.DropDatabase(ctx, name); err != nil {
			t.Error(err)
		}
	})
	return m.DSN(name)
}

// NewMariaDB starts a MariaDB for this test alone.
func NewMariaDB(t testing.TB, settings ...servers.Setting) *servers.MariaDB {
	t.Helper()
	return private(t, servers.StartMariaDB, settings)
}

// NewRedis starts a Redis for this test alone.
func NewRedis(t testing.TB, settings ...servers.Setting) *servers.Redis {
	t.Helper()
	return private(t, servers.StartRedis, settings)
}

// NewCluster starts a Redis Cluster for this test alone.
func NewCluster(t testing.TB, settings ...servers.Setting) *servers.Cluster {
	t.Helper()
	return private(t, servers.StartCluster, settings)
}

// NewSentinel starts Redis servers under Sentinel for this test alone.
func NewSentinel(t testing.TB, settings ...servers.Setting) *servers.Sentinel {
	t.Helper()
	return private(t, servers.StartSentinel, settings)
}

// NewEtcd starts an etcd for this test alone.
func NewEtcd(t testing.TB, settings ...servers.Setting) *servers.Etcd {
	t.Helper()
	return private(t, servers.StartEtcd, settings)
}

// NewZooKeeper starts a ZooKeeper for this test alone.
func NewZooKeeper(t testing.TB, settings ...servers.Setting) *servers.ZooKeeper {
	t.Helper()
	return private(t, servers.StartZooKeeper, settings)
}

// NewClock returns a movable clock for the servers that use it: see servers.ByClock.
func NewClock(t testing.TB) *servers.Clock {
	t.Helper()
	Need(t)
	c, err := servers.NewClock(t.Context(), t.TempDir())
	check(t, err)
	return c
}

// Move sets how far a clock is ahead of the right time.
func Move(t testing.TB, c *servers.Clock, by time.Duration) {
	t.Helper()
	check(t, c.Move(by))
}

// stopper is what every kind of server has.
type stopper interface{ Stop() error }

// starter starts a server.
type starter[S stopper] func(ctx context.Context, dir string, settings ...servers.Setting) (S, error)

// The shared servers of the test process.
var (
	mariaDB   = shared(servers.StartMariaDB)
	redis     = shared(servers.StartRedis)
	cluster   = shared(servers.StartCluster)
	sentinel  = shared(servers.StartSentinel)
	etcd      = shared(servers.StartEtcd)
	zooKeeper = shared(servers.StartZooKeeper)
)

// shared starts a server on first use; Main stops it.
func shared[S stopper](start starter[S]) func() (S, error) {
	return sync.OnceValues(func() (S, error) { return startAndKeep(start) })
}

func get[S stopper](t testing.TB, server func() (S, error)) S {
	t.Helper()
	Need(t)
	s, err := server()
	check(t, err)
	return s
}

func private[S stopper](t testing.TB, start starter[S], settings []servers.Setting) S {
	t.Helper()
	Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), startWithin)
	defer cancel()
	s, err := start(ctx, dataDir(t), settings...)
	check(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// check ends the test if its server could not be started.
func check(t testing.TB, err error) {
	t.Helper()
	skipWithout(t, err)
	if err != nil {
		t.Fatal(err)
	}
}
