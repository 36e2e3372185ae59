package etcdlock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/platform/certs"
	"example.com/seckill/internal/testing/testcerts"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// The server wants a certificate and a password of each client, and forgets who has logged in when it
// is started again.
func TestDial_TLSAndPassword_Connects(t *testing.T) {
	testservers.Need(t)
	ca := testcerts.New(t)
	own, mine := ca.Issue(), ca.Issue()
	server := testservers.NewEtcd(t, servers.WithTLS(servers.TLSFiles{Cert: own.Cert, Key: own.Key, CA: ca.File, ClientCerts: true}))
	allowLocks(t, observe(t, server.Addr()), "shop", "hunter2")

	secure := certs.Client{On: true, CA: ca.File, Cert: mine.Cert, Key: mine.Key, Keys: "lock.tls"}
	config, err := secure.Config()
	require.NoError(t, err)
	o := Options{TLS: config, Username: "shop", Password: "hunter2"}
	b, err := Connect([]string{server.TLSAddr()}, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	first, err := b.Acquire(t.Context(), "k", "one", time.Minute)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), "k", "two", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld)
	require.NoError(t, b.AdvanceFence(t.Context(), "k", first.Fence+10))

	require.NoError(t, server.Restart(t.Context()))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.NoError(c, b.Renew(ctx, "k", "one", time.Minute))
	}, 60*time.Second, 50*time.Millisecond)
	require.NoError(t, b.Release(t.Context(), "k", "one"))

	o.Password = "guess"
	wrong, err := Connect([]string{server.TLSAddr()}, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, wrong.Close()) })
	_, err = wrong.Acquire(t.Context(), "k", "three", time.Minute)
	require.ErrorContains(t, err, "authentication failed")
	require.NotContains(t, err.Error(), "guess")
	o.Username, o.Password = "", ""
	stranger, err := Connect([]string{server.TLSAddr()}, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stranger.Close()) })
	_, err = stranger.Acquire(t.Context(), "k", "four", time.Minute)
	require.ErrorContains(t, err, "permission denied", "the name in its certificate is no user")
}

// allowLocks makes the server want passwords, with one user for what is below the prefix of locks.
func allowLocks(t *testing.T, c *clientv3.Client, user, password string) {
	t.Helper()
	ctx := t.Context()
	for _, do := range []func() error{
		func() error { _, err := c.UserAdd(ctx, "root", "root"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.RoleAdd(ctx, "locks"); return err },
		func() error {
			from := "seckill/lock/"
			_, err := c.RoleGrantPermission(ctx, "locks", from, clientv3.GetPrefixRangeEnd(from), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := c.UserAdd(ctx, user, password); return err },
		func() error { _, err := c.UserGrantRole(ctx, user, "locks"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	} {
		require.NoError(t, do())
	}
}
