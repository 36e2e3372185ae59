package store

import (
	"context"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/certs"
	"example.com/seckill/internal/testing/testcerts"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestTLS_Database_VerifiesBothSides(t *testing.T) {
	testservers.Need(t)
	ca := testcerts.New(t)
	own, mine := ca.Issue(), ca.Issue()
	m := testservers.NewMariaDB(t, servers.WithTLS(servers.TLSFiles{Cert: own.Cert, Key: own.Key, CA: ca.File}))
	root, err := Open(t.Context(), Options{MySQL: m.DSN(""), MaxOpen: 2, MaxIdle: 2, TxTimeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	run := func(t *testing.T, statement string) {
		t.Helper()
		_, err := root.Pool().ExecContext(context.WithoutCancel(t.Context()), statement)
		require.NoError(t, err)
	}
	show := func(of *testcerts.Authority, options ...testcerts.Option) func(t *testing.T) {
		return func(t *testing.T) { of.Write(own, options...); run(t, "FLUSH SSL") }
	}
	run(t, "CREATE USER shop@'%' IDENTIFIED BY 'hunter2' REQUIRE X509")
	dsn := "shop:hunter2@tcp(" + m.Addr() + ")/?timeout=20s&readTimeout=20s&writeTimeout=20s"
	client := certs.Client{On: true, CA: ca.File, Cert: mine.Cert, Key: mine.Key, Keys: "mysql.tls"}
	unknown := client
	unknown.Cert, unknown.Key = "", ""
	at := "the database at " + m.Addr() + " "
	for _, tc := range []struct {
		name   string
		before func(t *testing.T)
		client certs.Client
		want   string // "" is a good connection
	}{
		{"right", nil, client, ""},
		{"no certificate of ours", nil, unknown, "Access denied"},
		{"plaintext", nil, certs.Client{}, "Access denied"},
		{"expired", show(ca, testcerts.Expired), client, at + "cannot be trusted: the certificate has expired on "},
		{"another name", show(ca, testcerts.For("db.example")), client, at + "cannot be trusted: its certificate is for db.example and not for 127.0.0.1"},
		{"an unknown authority", show(testcerts.New(t)), client, at + "cannot be trusted: its certificate is of an unknown authority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.before != nil {
				tc.before(t)
			}
			config, err := tc.client.Config()
			require.NoError(t, err)
			s, err := Open(t.Context(), Options{MySQL: dsn, TLS: config, MaxOpen: 2, MaxIdle: 2, TxTimeout: 20 * time.Second})
			if tc.want == "" {
				require.NoError(t, err)
				var cipher, name string
				require.NoError(t, s.Pool().QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher))
				require.NotEmpty(t, cipher)
				require.NoError(t, s.Close())
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
	config, err := client.Config()
	require.NoError(t, err)
	plain := testservers.MariaDB(t)
	_, err = Open(t.Context(), Options{MySQL: plain.DSN(""), TLS: config, MaxOpen: 2, MaxIdle: 2, TxTimeout: 20 * time.Second})
	require.ErrorContains(t, err, "the database at "+plain.Addr()+" does not speak TLS; mend mysql.tls")
	err = awayError("db:3306", &mysql.MySQLError{Number: insecureRefused, Message: "prohibited"})
	require.EqualError(t, err, "the database at db:3306 speaks TLS alone; mend mysql.tls and the keys beside it")
}
