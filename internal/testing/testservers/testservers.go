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
// TEST_RTT, as in TEST_RTT=2ms, puts a proxy before each MariaDB and each Redis that is not part of a Cluster or of a
// Sentinel. Every reply arrives that much later.
//
// The servers are real. A test that cannot have one, because it is not installed
// or because of -short, is skipped with the reason; `make test` installs them and treats a skipped
// test as a failure. Main reports every goroutine that the tests leaked.
package testservers

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/tools/servers"
)

const startWithin = time.Minute

// MariaDB and the others return the process's shared servers, each started when it is first asked for. DSN makes a
// database of the test's own in MariaDB; in the others are the keys of other tests, and in ZooKeeper their nodes.
var (
	MariaDB   = shared(servers.StartMariaDB)
	Redis     = shared(servers.StartRedis)
	Cluster   = shared(servers.StartCluster)
	Sentinel  = shared(servers.StartSentinel)
	Etcd      = shared(servers.StartEtcd)
	ZooKeeper = shared(servers.StartZooKeeper)
)

// NewMariaDB and the others start a server, with the settings, for a single test; it ends with the test.
var (
	NewMariaDB   = private(servers.StartMariaDB)
	NewRedis     = private(servers.StartRedis)
	NewCluster   = private(servers.StartCluster)
	NewSentinel  = private(servers.StartSentinel)
	NewEtcd      = private(servers.StartEtcd)
	NewZooKeeper = private(servers.StartZooKeeper)
)

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

// NewClock returns a movable clock for the servers that use it: see servers.ByClock.
func NewClock(t testing.TB) *servers.Clock {
	t.Helper()
	Need(t)
	dir := filepath.Join(t.TempDir(), "a clock") // a name with a space, as a user's folder may have
	check(t, os.Mkdir(dir, 0o700))
	c, err := servers.NewClock(t.Context(), dir)
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

// shared returns a function that lends the process's one server, started on first use; Main stops it.
func shared[S stopper](start starter[S]) func(t testing.TB) S {
	server := sync.OnceValues(func() (S, error) { return startAndKeep(start) })
	return func(t testing.TB) S {
		t.Helper()
		Need(t)
		s, err := server()
		check(t, err)
		return s
	}
}

// private returns a function that starts a server, which ends with the test.
func private[S stopper](start starter[S]) func(t testing.TB, settings ...servers.Setting) S {
	return func(t testing.TB, settings ...servers.Setting) S {
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
		end, err := moveAway(s)
		check(t, err)
		t.Cleanup(end)
		return s
	}
}

// check ends the test if its server could not be started.
func check(t testing.TB, err error) {
	t.Helper()
	skipWithout(t, err)
	if err != nil {
		t.Fatal(err)
	}
}
