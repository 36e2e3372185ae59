package redisconn_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/certs"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testcerts"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// secured is what a server and its clients have.
type secured struct {
	ca     *testcerts.Authority
	server testcerts.Pair
	files  servers.TLSFiles
	client certs.Client
}

func newSecured(t *testing.T) secured {
	t.Helper()
	testservers.Need(t)
	ca := testcerts.New(t)
	own, mine := ca.Issue(), ca.Issue()
	return secured{
		ca, own,
		servers.TLSFiles{Cert: own.Cert, Key: own.Key, CA: ca.File, ClientCerts: true},
		certs.Client{On: true, CA: ca.File, Cert: mine.Cert, Key: mine.Key, Keys: "redis.tls"},
	}
}

func config(t *testing.T, c certs.Client) *tls.Config {
	t.Helper()
	made, err := c.Config()
	require.NoError(t, err)
	return made
}

func TestTLS_SingleServer_VerifiesBothSides(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	server := testservers.NewRedis(t, servers.WithTLS(s.files))
	side := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = side.Close() }()
	// show makes the server show another certificate.
	show := func(t *testing.T, of *testcerts.Authority, options ...testcerts.Option) {
		t.Helper()
		of.Write(s.server, options...)
		require.NoError(t, side.Do(t.Context(), "CONFIG", "SET", "tls-cert-file", s.server.Cert, "tls-key-file", s.server.Key).Err())
	}
	stranger, none := s.client, s.client
	none.Cert, none.Key = "", ""
	other := testcerts.New(t).Issue()
	stranger.Cert, stranger.Key = other.Cert, other.Key
	at := "redis (single) at " + server.TLSAddr() + " "
	for _, tc := range []struct {
		name   string
		show   func(t *testing.T)
		client certs.Client
		addr   string
		want   string // "" is a good connection
	}{
		{"right", nil, s.client, server.TLSAddr(), ""},
		{"no certificate of ours", nil, none, server.TLSAddr(), at + "refuses the certificate of this program, or wants one"},
		{"a stranger's certificate", nil, stranger, server.TLSAddr(), at + "refuses the certificate of this program, or wants one"},
		{"no TLS, and it is asked for", nil, s.client, server.Addr(), "redis (single) at " + server.Addr() + " does not"},
		{"TLS, and it is not used", nil, certs.Client{}, server.TLSAddr(), at + "speaks TLS"},
		{"expired", func(t *testing.T) { show(t, s.ca, testcerts.Expired) }, s.client, server.TLSAddr(), at + "cannot be trusted: the certificate has expired on "},
		{"another name", func(t *testing.T) { show(t, s.ca, testcerts.For("redis.example")) }, s.client, server.TLSAddr(), at + "cannot be trusted: its certificate is for redis.example and not for 127.0.0.1"},
		{"an unknown authority", func(t *testing.T) { show(t, testcerts.New(t)) }, s.client, server.TLSAddr(), at + "cannot be trusted: its certificate is of an unknown authority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.show != nil {
				tc.show(t)
			}
			patience := 10 * time.Second
			if tc.addr == server.Addr() {
				patience = 200 * time.Millisecond // it waits for the end of the line
			}
			client, err := redisconn.Open(t.Context(), redisconn.Options{
				Addrs: []string{tc.addr}, TLS: config(t, tc.client), Timeout: patience, DialTimeout: patience,
			})
			if tc.want == "" {
				require.NoError(t, err)
				require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
				require.NoError(t, client.Close())
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "\n")
			require.Contains(t, err.Error(), "mend redis.tls and the keys beside it")
		})
	}
}

func TestTLS_ClusterNodes_AreReachedOverTLSOnly(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	const masters = 2
	cluster, err := servers.StartMasters(t.Context(), t.TempDir(), masters, servers.WithTLS(s.files))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	o := redisconn.Options{
		Mode: redisconn.Cluster, Addrs: cluster.TLSAddrs(), TLS: config(t, s.client), Timeout: 10 * time.Second, DialTimeout: 10 * time.Second,
	}
	client := open(t, o)
	for _, key := range []string{"a", "b", "c", "d", "e"} { // of both
		require.NoError(t, client.Set(t.Context(), key, "v", 0).Err())
	}
	other := s.client
	other.CA = testcerts.New(t).File
	o.TLS = config(t, other)
	_, err = redisconn.Open(t.Context(), o)
	require.ErrorContains(t, err, "redis (cluster) at "+cluster.TLSAddrs()[0]+" cannot be trusted: its certificate is of an unknown authority")
}

// The sentinels have a user of their own.
func TestTLS_Sentinels_TheyAndTheMasterUseTLS(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	group := testservers.NewSentinel(t, servers.WithTLS(s.files))
	o := redisconn.Options{
		Mode: redisconn.Sentinel, MasterName: group.MasterName(), Addrs: group.SentinelTLSAddrs(), TLS: config(t, s.client),
		SentinelUsername: "seckill", SentinelPassword: password, Timeout: 10 * time.Second, DialTimeout: 10 * time.Second,
	}
	_, err := redisconn.Open(t.Context(), o)
	require.Error(t, err, "nobody knows this user yet")
	for _, addr := range group.SentinelAddrs() {
		side := redis.NewClient(&redis.Options{Addr: addr})
		require.NoError(t, side.Do(t.Context(), "ACL", "SETUSER", "seckill", "on", ">"+password, "+@all", "allchannels").Err())
		require.NoError(t, side.Close())
	}
	client := open(t, o)
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	other := s.client
	other.CA = testcerts.New(t).File
	o.TLS = config(t, other)
	_, err = redisconn.Open(t.Context(), o)
	require.ErrorContains(t, err, "redis (sentinel) at "+group.SentinelTLSAddrs()[0]+" cannot be trusted: its certificate is of an unknown authority")
}
