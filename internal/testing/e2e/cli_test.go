package e2e_test

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/testing/testservers"
)

func TestCommand_InvalidFlags_AreNamedWithExitCode2(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"sell":              `"sell"`,
		"--sell":            "--sell",
		"help sell":         `"sell"`,
		"help serve now":    `"serve now"`,
		"serve --port 80":   "--port",
		"serve now":         `"now"`,
		"demo --users":      "--users",
		"demo --users many": "--users",
		"demo --users 0":    "--users",
		"demo --stock -1":   "--stock",
		"demo --limit 0":    "--limit",
		"demo --shards 0":   "--shards",
		"rush --buyers 5":   "--buyers",
		"rush --users 0":    "users",
		"rush --pay-percent 60 --cancel-percent 50": "--cancel-percent",
		"rush --pay 60":               "use --pay-percent",
		"rush --url localhost:8080":   "http://host:port",
		"rush --coupon x":             `"x"`,
		"audit --fix":                 "--fix",
		"audit --coupon x":            "--coupon",
		"audit":                       "embedded",
		"archive":                     "mysql.dsn",
		"archive --older-than 1d":     "--older-than",
		"migrate --down":              "--down",
		"migrate":                     "mysql.dsn",
		"seed":                        "embedded",
		"seed --stock 0":              "stock",
		"seed --limit 0":              "limit",
		"seed --lasts 0s":             "--lasts",
		"token":                       "--user",
		"token --user 0":              "--user",
		"token --user x":              "--user",
		"token --users 3-1":           "--users",
		"token --users 1-99999999999": "--users",
		"token --user 1 --role king":  "role",
		"token --user 1 --ttl 0s":     "--ttl",
		"token --user 1 --users 1-3":  "--user",
		"version --short":             "--short",
		"chaos --rounds 3":            "make chaos",
	} {
		t.Run(line, func(t *testing.T) {
			environ := []string{"SECKILL_AUTH__SECRET=" + secret}
			if strings.HasPrefix(line, "demo") {
				environ = nil // demo also says that it ignores the variable
			}
			p := run(t, environ, strings.Fields(line)...)
			assert.Equal(t, 2, p.code(), p.err.String())
			assert.Contains(t, p.err.String(), says)
			assert.Equal(t, 1, strings.Count(p.err.String(), "\n"), p.err.String())
			assert.Empty(t, p.out.String())
		})
	}
}

// What was stopped does not blame the server that it waited for.
func TestCommand_Interrupted_SaysSo(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	p := launch(t, []string{
		"SECKILL_MYSQL__DSN=u@tcp(" + silent.Addr().String() + ")/d?timeout=30s&readTimeout=30s&writeTimeout=30s",
		"SECKILL_REDIS__ADDRS=127.0.0.1:1", "SECKILL_AUTH__SECRET=" + secret,
	}, "migrate")
	conn, err := silent.Accept() // now it waits
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	p.signal(t, syscall.SIGINT)
	assert.Equal(t, 1, p.await(t, 10*time.Second))
	assert.Equal(t, "seckill: stopped before it was done\n", p.err.String())
}

func TestCommand_Help_HasAnExample(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "serve", "demo", "check", "health", "rush", "audit", "archive", "migrate", "seed", "token", "version"} {
		p := run(t, nil, append(strings.Fields(command), "--help")...)
		assert.Zero(t, p.code(), command)
		assert.Contains(t, p.out.String(), "Examples:\n", command)
		assert.Contains(t, p.out.String(), "  seckill", command)
		assert.Empty(t, p.err.String(), command)
	}
	all := run(t, nil, "help").out.String()
	for _, command := range []string{"serve", "demo", "check", "health", "rush", "audit", "archive", "migrate", "seed", "token", "version", "completion"} {
		assert.Contains(t, all, "\n  "+command)
	}
	assert.Contains(t, run(t, nil, "version").out.String(), "seckill ")
	assert.Contains(t, run(t, nil, "completion", "bash").out.String(), "seckill")
}

func TestTokenCommand_Several_PrintsOnePerLine(t *testing.T) {
	t.Parallel()
	i := serve(t, "SECKILL_AUTH__SECRET="+secret)
	p := run(t, []string{"SECKILL_AUTH__SECRET=" + secret}, "token", "--users", "1-3")
	require.Zero(t, p.code(), p.err.String())
	lines := strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
	require.Len(t, lines, 3)
	for n, line := range lines {
		c := i.as(t, 0)
		c.token = line
		o := c.buy("1", "").sold(t, http.StatusCreated)
		assert.Equal(t, itoa(n+1), o.UserID)
		c.do(http.MethodGet, "/api/v1/admin/coupons/1/audit", "").isProblem(t, http.StatusForbidden, "forbidden")
	}
	admin := run(t, []string{"SECKILL_AUTH__SECRET=" + secret}, "token", "--user", "9", "--role", auth.RoleAdmin, "--ttl", "5m")
	c := i.as(t, 0)
	c.token = strings.TrimSpace(admin.out.String())
	assert.Equal(t, http.StatusOK, c.do(http.MethodGet, "/api/v1/admin/coupons/1/audit", "").status)
	other := run(t, []string{"SECKILL_AUTH__SECRET=another secret of the tests, also long enough"}, "token", "--user", "9")
	c.token = strings.TrimSpace(other.out.String())
	c.buy("1", "").isProblem(t, http.StatusUnauthorized, "unauthenticated")
}

func TestMigrateCommand_TwiceOrTwoAtOnce_Succeeds(t *testing.T) {
	t.Parallel()
	env := []string{"SECKILL_MYSQL__DSN=" + testservers.DSN(t), "SECKILL_REDIS__ADDRS=" + testservers.Redis(t).Addr(), "SECKILL_AUTH__SECRET=" + secret}
	first, second := launch(t, env, "migrate"), launch(t, env, "migrate")
	applied := 0
	for _, p := range []*process{first, second} {
		<-p.gone
		require.Zero(t, p.code(), p.err.String())
		if strings.Contains(p.out.String(), "applied ") {
			applied++
		}
	}
	assert.Equal(t, 1, applied, "of the two, one applied:\n%s---\n%s", first.out.String(), second.out.String())
	again := run(t, env, "migrate")
	assert.Zero(t, again.code())
	assert.Equal(t, "the schema is up to date\n", again.out.String())
}

// The load generator as a command, against a real shop.
func TestRushCommand_JSON_HasPurchasesAndAudit(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	s := newShop(t)
	i := s.instance(t)
	id := i.sale(t, 40, 1)
	p := run(t, []string{"SECKILL_AUTH__SECRET=" + secret}, "rush", "--url", i.url, "--coupon", id, "--users", "150", "--pay-percent", "20", "--json")
	assert.Zero(t, p.code(), p.err.String())
	isReport(t, p.out.String(), 40)
	wrong := run(t, []string{"SECKILL_AUTH__SECRET=" + secret}, "rush", "--url", i.url, "--coupon", "999", "--users", "5")
	assert.Equal(t, 1, wrong.code())
	assert.Contains(t, wrong.err.String(), "coupon 999")
}
