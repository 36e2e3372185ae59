package zklock

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/platform/certs"
	"example.com/seckill/internal/testing/testcerts"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// The server wants a certificate of each client over TLS, and what is made with a password is closed to others.
func TestDial_TLSAndPassword_Connects(t *testing.T) {
	testservers.Need(t)
	ca := testcerts.New(t)
	own, mine := ca.Issue(), ca.Issue()
	server := testservers.NewZooKeeper(t, servers.WithTLS(servers.TLSFiles{Cert: own.Cert, Key: own.Key, CA: ca.File, ClientCerts: true}))
	secure := certs.Client{On: true, CA: ca.File, Cert: mine.Cert, Key: mine.Key, Keys: "lock.tls"}
	config, err := secure.Config()
	require.NoError(t, err)
	connect := func(o Options) *Backend {
		o.TLS = config
		b, err := Connect([]string{server.TLSAddr()}, o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	b := connect(Options{Username: "shop", Password: "hunter2"})
	first, err := b.Acquire(t.Context(), "k", "one", time.Minute)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), "k", "two", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld)
	require.NoError(t, b.AdvanceFence(t.Context(), "k", first.Fence+10))

	_, err = connect(Options{}).Acquire(t.Context(), "other", "three", time.Minute)
	require.ErrorIs(t, err, zk.ErrNoAuth, "without the password")
	_, err = connect(Options{Username: "shop", Password: "guess"}).Acquire(t.Context(), "other", "four", time.Minute)
	require.ErrorIs(t, err, zk.ErrNoAuth, "with another")

	// The session outlives its connection, and the password is told again on the next.
	for _, s := range b.sessions {
		s.conns.mu.Lock()
		require.NoError(t, s.conns.conn.Close())
		s.conns.mu.Unlock()
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.NoError(c, b.Renew(t.Context(), "k", "one", time.Minute)) }, 30*time.Second, 50*time.Millisecond)
	require.NoError(t, b.Release(t.Context(), "k", "one"))
}
