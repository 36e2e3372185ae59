package e2e_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/mysql84"
)

// rootOf is a pool of the administrator of a database's server.
func rootOf(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	root, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root
}

func setGlobal(t *testing.T, root *sql.DB, settings ...string) {
	t.Helper()
	for _, one := range settings {
		_, err := root.ExecContext(t.Context(), "SET GLOBAL "+one)
		require.NoError(t, err, one)
	}
}

// untilServed repeats a request that the server would have repeated: on a busy machine a lock may stay until its
// lease is over.
func untilServed(t *testing.T, request func() reply) (last reply) {
	t.Helper()
	within(t, 30*time.Second, func() error {
		if last = request(); last.header.Get("Retry-After") != "" {
			return fmt.Errorf("%d %s", last.status, last.body)
		}
		return nil
	})
	return last
}

// playsASale makes a coupon, sells it, has orders paid and cancelled, and audits.
func (s shop) playsASale(t *testing.T, i *instance) {
	t.Helper()
	for limit := 1; limit <= 2; limit++ {
		id := i.sale(t, 6, limit)
		buy := func(user int64, key string) reply {
			return untilServed(t, func() reply { return i.as(t, user).buy(id, key+"-"+id) })
		}
		post := func(user int64, path string) reply {
			return untilServed(t, func() reply { return i.as(t, user).do(http.MethodPost, "/api/v1/orders/"+path, "") })
		}
		for user := int64(1); user <= 4; user++ {
			buy(user, "first").sold(t, http.StatusCreated)
			switch {
			case limit == 1:
				buy(user, "second").isProblem(t, http.StatusConflict, "limit_reached")
			case user <= 2:
				buy(user, "second").sold(t, http.StatusCreated)
			}
		}
		paid, cancelled := buy(1, "first").sold(t, http.StatusCreated), buy(2, "first").sold(t, http.StatusCreated)
		require.Equal(t, http.StatusOK, post(1, paid.ID+"/payment").status)
		require.Equal(t, http.StatusOK, post(2, cancelled.ID+"/cancellation").status)
		s.auditedTwice(t, i, id)
	}
	assert.NotContains(t, i.err.String(), `"level":"ERROR"`)
}

func TestServe_HostileDefaultsOfTheDatabase_SellsAsEver(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"autocommit":       {"autocommit = 0"},
		"chain, serial":    {"completion_type = CHAIN", "tx_isolation = 'SERIALIZABLE'"},
		"release, dirty":   {"completion_type = 2", "tx_isolation = 'READ-UNCOMMITTED'", "tx_read_only = ON"},
		"limits":           {"sql_safe_updates = 1", "sql_select_limit = 1", "max_join_size = 1", "wait_timeout = 1", "unique_checks = 0"},
		"ORACLE, Tokyo":    {"sql_mode = 'ORACLE'", "time_zone = '+09:00'"},
		"ANSI, not strict": {"sql_mode = 'ANSI'", "autocommit = 0", "completion_type = CHAIN"},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := ownDatabase(t)
			setGlobal(t, rootOf(t, dsn), settings...)
			s := newShopOver(t, dsn, "SECKILL_LOCK__BACKEND=mysql")
			check := run(t, s.env, "check")
			assert.Zero(t, check.code(), check.out.String())
			for _, one := range settings {
				variable, _, _ := strings.Cut(one, " ")
				if variable != "time_zone" && variable != "wait_timeout" && variable != "max_join_size" {
					assert.Regexp(t, `fine .* session .*`+variable, check.out.String())
				}
			}
			s.playsASale(t, s.instance(t))
		})
	}
}

func TestServe_DialectOfMySQL84_AllStatementsAreKnown(t *testing.T) {
	t.Parallel()
	p, err := mysql84.New(t.Context(), ownDatabase(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	s := newShopOver(t, p.DSN(), "SECKILL_LOCK__BACKEND=mysql")
	require.Zero(t, run(t, s.env, "check").code())
	i := s.instance(t)
	s.playsASale(t, i)
	require.Zero(t, i.stop(t))
	require.Zero(t, run(t, s.env, "archive").code())
	alone := s.instance(t, "SECKILL_ORDER__BATCH_SIZE=1")
	s.playsASale(t, alone)
	require.Empty(t, p.Refused())
}

// Whatever the server breaks off, a buyer hears of no fault of the program, and the books are right.
func TestServe_InterruptedStatements_NoAnswerIsInternal(t *testing.T) {
	t.Parallel()
	dsn := ownDatabase(t)
	root := rootOf(t, dsn)
	s := newShopOver(t, dsn, impatient()...)
	i := s.instance(t)
	id := i.sale(t, 1000, 1)
	for name, harm := range map[string]func(t *testing.T) (end func()){
		"max_statement_time": func(t *testing.T) func() {
			setGlobal(t, root, "max_statement_time = 0.0005")
			killEach(t, root, "KILL CONNECTION") // so that the sessions have it
			return func() { setGlobal(t, root, "max_statement_time = 0"); killEach(t, root, "KILL CONNECTION") }
		},
		"KILL QUERY": func(t *testing.T) func() {
			ctx, stop := context.WithCancel(t.Context())
			var killer sync.WaitGroup
			killer.Go(func() {
				for ctx.Err() == nil {
					killEach(t, root, "KILL QUERY")
				}
			})
			return func() { stop(); killer.Wait() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			end := harm(t)
			var crowd sync.WaitGroup
			var user, refused atomic.Int64
			user.Store(int64(len(name)) * 1000)
			for range 4 {
				crowd.Go(func() {
					for range 60 {
						c := i.as(t, user.Add(1))
						for _, r := range []reply{c.buy(id, "k"), c.do(http.MethodGet, "/api/v1/orders", "")} {
							assert.NotEqual(t, http.StatusInternalServerError, r.status, r.body)
							if r.status == http.StatusServiceUnavailable || r.status == http.StatusAccepted {
								refused.Add(1)
							}
						}
					}
				})
			}
			for range 5 {
				draft := i.asAdmin(t).do(http.MethodGet, "/api/v1/admin/coupons/"+id+"/audit", "")
				assert.NotEqual(t, http.StatusInternalServerError, draft.status, draft.body)
			}
			crowd.Wait()
			end()
			t.Log(refused.Load(), "requests were refused for the moment")
			within(t, 20*time.Second, func() error {
				if r := i.as(t, user.Add(1)).buy(id, "after"); r.status != http.StatusCreated {
					return fmt.Errorf("%d %s", r.status, r.body)
				}
				return nil
			})
		})
	}
	s.auditedTwice(t, i, id)
}

// killEach ends the statement or the session of each other connection.
func killEach(t *testing.T, root *sql.DB, kill string) {
	t.Helper()
	for _, id := range sessionsOf(t, root) {
		_, _ = root.ExecContext(t.Context(), kill+" "+strconv.FormatInt(id, 10)) // it may be gone
	}
}

// sessionsOf lists the other connections to databases; none if this one was killed.
func sessionsOf(t *testing.T, root *sql.DB) (ids []int64) {
	t.Helper()
	rows, err := root.QueryContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE db IS NOT NULL AND id <> CONNECTION_ID()")
	if err != nil {
		return nil
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil
		}
		ids = append(ids, id)
	}
	if rows.Err() != nil {
		return nil
	}
	return ids
}
