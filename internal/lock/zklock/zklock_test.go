package zklock

import (
	"errors"
	"path"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/locktest"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

func TestBackend_OneServer_KeepsContract(t *testing.T) {
	locktest.Run(t, harness(t, testservers.NewZooKeeper(t).Addr()))
}

func dial(t testing.TB, addr string) *Backend {
	t.Helper()
	b, err := Connect([]string{addr}, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// observer is a client past every backend.
type observer struct{ *zk.Conn }

// observe connects as a backend does: by itself the library would wait for minutes for a server that
// accepts and never greets, as one that is killed or being started does now and then.
func observe(t testing.TB, addr string) observer {
	t.Helper()
	conns := newConnManager([]string{addr}, nil, func(error) {})
	c, events, err := zk.Connect([]string{addr}, time.Minute, zk.WithLogger(silent{}), zk.WithDialer(conns.dial), zk.WithHostProvider(conns))
	require.NoError(t, err)
	t.Cleanup(func() {
		conns.shut(false)
		c.Close()
		for range events { // until it has ended
		}
	})
	return observer{c}
}

func (o observer) children(t testing.TB, dir string) names {
	t.Helper()
	kids, _, err := o.Children(dir)
	if !errors.Is(err, zk.ErrNoNode) {
		require.NoError(t, err)
	}
	return kids
}

// empty deletes what is below dir.
func (o observer) empty(t testing.TB, dir string) {
	t.Helper()
	for _, name := range o.children(t, dir) {
		o.empty(t, path.Join(dir, name))
		if err := o.Delete(path.Join(dir, name), -1); !errors.Is(err, zk.ErrNoNode) {
			require.NoError(t, err)
		}
	}
}

// count counts the nodes below dir.
func (o observer) count(t testing.TB, dir string) int {
	t.Helper()
	children := o.children(t, dir)
	n := len(children)
	for _, name := range children {
		n += o.count(t, path.Join(dir, name))
	}
	return n
}

func harness(t testing.TB, addr string) locktest.Harness {
	o, names := observe(t, addr), &Backend{o: Options{Root: "/seckill"}}
	return locktest.Harness{
		Server: addr,
		Dial:   func(t testing.TB, addr string) lock.Backend { return dial(t, addr) },
		Value: func(t testing.TB, key string) string {
			held := newNames(o.children(t, names.held(key)))
			if len(held) == 0 {
				return ""
			}
			return held[0]
		},
		Overwrite: func(t testing.TB, key string) {
			o.empty(t, names.held(key))
			_, err := o.Create(names.held(key)+"/stranger.", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		},
		Delete:     func(t testing.TB, key string) { o.empty(t, names.held(key)) },
		KeptAtMost: 4, // the folders of the folders
		Kept:       func(t testing.TB) int { return o.count(t, "/seckill") },
		Flush:      func(t testing.TB) { o.empty(t, "/seckill") },
		Subscriptions: func(t testing.TB) (n int) {
			for _, key := range o.children(t, "/seckill/line") {
				n += len(o.children(t, "/seckill/line/"+key))
			}
			return n
		},
		Capabilities: locktest.Capabilities{
			Fence: true, FenceOutlivesData: true, AdvancesFence: true, Wakes: true, WakesOne: true, TellsTaken: true,
			Steps:  true,        // look, create, look again
			Coarse: time.Second, // two ticks: the shortest session that the server grants
		},
	}
}
