package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/certs"
	"example.com/seckill/internal/testing/testcerts"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestTLS_HealthAndRush_ReachOnlyTheirServer(t *testing.T) {
	t.Parallel()
	ca := testcerts.New(t)
	own, stranger := ca.Issue(), testcerts.New(t).File
	env := []string{
		"SECKILL_HTTP__TLS_CERT=" + own.Cert, "SECKILL_HTTP__TLS_KEY=" + own.Key, "SECKILL_ADMIN__TLS=true", "SECKILL_AUTH__SECRET=" + secret,
	}
	i := serve(t, env...)
	require.True(t, strings.HasPrefix(i.url, "https://"), i.url)
	public, admin := strings.TrimPrefix(i.url, "https://"), strings.TrimPrefix(i.admin, "http://")
	here := append([]string{"SECKILL_HTTP__ADDR=" + public, "SECKILL_ADMIN__ADDR=" + admin}, env...)
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"health":          {0, "ready"},
		"health --live":   {0, "ok"},
		"health --public": {0, "ok"},
		"health --url https://" + admin + " --ca OWN":                        {0, "ready"},
		"health --url https://" + admin + " --ca STRANGER":                   {1, "unknown authority"},
		"health --url https://" + admin:                                      {1, "unknown authority"},
		"health --url http://" + admin:                                       {1, "400"},
		"rush --users 20 --json --url " + i.url + " --ca OWN":                {0, "clean"},
		"rush --users 20 --first-user 100 --url " + i.url + " --ca STRANGER": {1, "unknown authority"},
		"rush --users 20 --first-user 100 --url " + i.url:                    {1, "unknown authority"},
		"rush --users 20 --first-user 100 --url http://" + public:            {1, "400"},
	} {
		args := strings.Fields(line)
		for n, word := range args { // after the split: a folder's name may have spaces
			switch word {
			case "OWN":
				args[n] = ca.File
			case "STRANGER":
				args[n] = stranger
			}
		}
		p := run(t, here, args...)
		assert.Equal(t, want.code, p.code(), "%s: %s", line, p.err.String())
		assert.Contains(t, p.out.String()+p.err.String(), want.says, line)
	}
	trusted, err := certs.Trust(ca.File)
	require.NoError(t, err)
	visitor := i.as(t, 0)
	visitor.http.Transport.(*http.Transport).TLSClientConfig = trusted
	within(t, 10*time.Second, func() error { // a look may be half a second old
		left, err := visitor.left("1")
		if err == nil && left != 1000-20 {
			err = fmt.Errorf("%d are left: those that were trusted have bought, and no others", left)
		}
		return err
	})
}

func TestTLS_Stores_ProgramAndAuditReachOnlyTheirs(t *testing.T) {
	t.Parallel()
	testservers.Need(t, testservers.Servers)
	ca := testcerts.New(t)
	own, stranger := ca.Issue(), testcerts.New(t).File
	files := servers.TLSFiles{Cert: own.Cert, Key: own.Key, CA: ca.File}
	m := testservers.NewMariaDB(t, servers.WithTLS(files))
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	s := shop{}.with("SECKILL_REDIS__ADDRS="+testservers.NewRedis(t, servers.WithTLS(files)).TLSAddr(),
		"SECKILL_REDIS__TLS=true", "SECKILL_REDIS__TLS_CA="+ca.File, "SECKILL_MYSQL__TLS=true", "SECKILL_MYSQL__TLS_CA="+ca.File,
	).migrated(t, m.DSN(name))
	i := s.instance(t)
	id := i.sale(t, 10, 1)
	i.as(t, 7).buy(id, "").sold(t, http.StatusCreated)
	p := run(t, s.env, "audit", "--coupon", id)
	assert.Zero(t, p.code(), p.err.String())
	assert.Contains(t, p.out.String(), "clean")
	for _, key := range []string{"MYSQL", "REDIS"} {
		for _, command := range []string{"audit", "serve"} {
			p := run(t, s.with("SECKILL_"+key+"__TLS_CA="+stranger, "SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0").env, command)
			assert.Equal(t, 1, p.code(), "%s %s", key, command)
			assert.Contains(t, p.err.String(), "cannot be trusted", command)
			assert.Contains(t, p.err.String(), strings.ToLower(key)+".tls", command)
			assert.Equal(t, 1, strings.Count(p.err.String(), "\n"), p.err.String())
		}
	}
}
