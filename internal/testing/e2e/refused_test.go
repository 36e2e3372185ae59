package e2e_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// What a store refuses is named at once by the health check, once a minute by the log, and by a metric.
func TestRequests_ReadOnlyStore_NameIt(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	r, db := testservers.NewRedis(t), testservers.NewMariaDB(t)
	name, err := db.CreateDatabase(t.Context())
	require.NoError(t, err)
	root, err := sql.Open("mysql", db.DSN(""))
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	exec := func(statement string) error { _, err := root.ExecContext(t.Context(), statement); return err }
	require.NoError(t, exec("CREATE USER app IDENTIFIED BY 'pw'")) // root may write what is read-only
	require.NoError(t, exec("GRANT ALL ON "+name+".* TO app"))
	s := shop{redis: redis.NewClient(&redis.Options{Addr: r.Addr()})}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with("SECKILL_REDIS__ADDRS="+r.Addr()).migrated(t, strings.Replace(db.DSN(name), "root@", "app:pw@", 1))
	i := s.instance(t)
	id := i.sale(t, 1000, 1)
	redisDo := func(args ...any) error { return s.redis.Do(t.Context(), args...).Err() }
	causes := map[string]struct{ stop, start func() error }{
		"database_read_only": {
			func() error { return exec("SET GLOBAL read_only = 1") },
			func() error { return exec("SET GLOBAL read_only = 0") },
		},
		"redis_out_of_memory": {
			func() error { return redisDo("CONFIG", "SET", "maxmemory", "1") },
			func() error { return redisDo("CONFIG", "SET", "maxmemory", "0") },
		},
		"redis_read_only": {
			func() error { return redisDo("REPLICAOF", "127.0.0.1", "1") },
			func() error { return redisDo("REPLICAOF", "NO", "ONE") },
		},
	}
	user := int64(0)
	buy := func() reply { user++; return i.as(t, user).buy(id, "") }
	for cause, of := range causes {
		i.apart(t, http.StatusOK)
		require.NoError(t, of.stop())
		for range 3 {
			buy().isProblem(t, http.StatusServiceUnavailable, "unavailable")
		}
		i.apart(t, http.StatusServiceUnavailable)
		assert.Contains(t, textOf(t, i.admin+"/readyz"), cause)
		require.NoError(t, of.start())
		i.apart(t, http.StatusOK)
		assert.Regexp(t, `seckill_store_errors_total\{cause="`+cause+`"\} [3-9]`, textOf(t, i.admin+"/metrics"))
		within(t, 20*time.Second, func() error {
			if got := buy(); got.status != http.StatusCreated {
				return fmt.Errorf("%s: %d %s", cause, got.status, got.body)
			}
			return nil
		})
	}
	for cause := range causes {
		said := regexp.MustCompile(`requests refused because of a store","cause":"` + cause)
		within(t, 5*time.Second, func() error { // the log comes a moment after the answer
			if !said.MatchString(i.err.String()) {
				return errors.New("nothing is said of " + cause)
			}
			return nil
		})
		assert.Len(t, said.FindAllString(i.err.String(), -1), 1, "once a minute")
	}
}
