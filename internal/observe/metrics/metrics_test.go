package metrics_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names are what dashboards ask for: each is renamed here and there, or not at all.
var names = []string{
	"seckill_admission_in_flight gauge ",
	"seckill_admission_limit gauge ",
	"seckill_admission_refused_total counter reason",
	"seckill_admission_waiting gauge ",
	"seckill_backend_up gauge backend",
	"seckill_background_failures_total counter task",
	"seckill_background_items_total counter task",
	"seckill_coupon_live_orders gauge coupon",
	"seckill_coupon_oversold_units gauge coupon",
	"seckill_coupon_units gauge coupon",
	"seckill_group_commit_duration_seconds histogram ",
	"seckill_group_commit_orders histogram ",
	"seckill_http_request_duration_seconds histogram method,route,status",
	"seckill_lock_attempts_total counter ",
	"seckill_lock_events_total counter event",
	"seckill_lock_held_seconds histogram ",
	"seckill_lock_wait_seconds histogram ",
	"seckill_order_step_duration_seconds histogram outcome,step",
	"seckill_orders_total counter outcome",
	"seckill_queue_dead_letters gauge coupon",
	"seckill_queue_entries gauge coupon",
	"seckill_queue_oldest_seconds gauge coupon",
	"seckill_redis_evicted_keys_total counter server",
	"seckill_redis_pool_connections gauge ",
	"seckill_redis_pool_idle_connections gauge ",
	"seckill_redis_pool_timeouts_total counter ",
	"seckill_stock_remaining gauge coupon,shard",
}

var errAway = errors.New("away")

// filled is a registry that has seen something of everything.
func filled(t *testing.T, left func(ctx context.Context, all []coupon.Coupon) ([][]int64, []error)) *metrics.Metrics {
	t.Helper()
	m := metrics.New()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // it is asked for its pool only
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	connector, err := mysql.NewConnector(mysql.NewConfig())
	require.NoError(t, err)
	db := sql.OpenDB(connector) // no connection is ever made
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(7)
	m.WatchPools(db, client)
	known := func() []coupon.Coupon {
		now := time.Now()
		return []coupon.Coupon{
			{ID: 1, State: coupon.OnSale, Shards: 2, EndsAt: now.Add(time.Hour)},
			{ID: 2, State: coupon.Paused, Shards: 2, EndsAt: now.Add(time.Hour)},
			{ID: 3, State: coupon.OnSale, Shards: 2, EndsAt: now},
		}
	}
	m.WatchShards(known, left)
	m.WatchSales(known, func(_ context.Context, all []coupon.Coupon) ([]metrics.Sales, []error) {
		return slices.Repeat([]metrics.Sales{{Units: 9, Orders: 11, Oversold: 2}}, len(all)), make([]error, len(all))
	})
	m.WatchQueues(known, func(_ context.Context, all []coupon.Coupon) ([]order.QueueStats, []error) {
		one := order.QueueStats{Entries: 6, Oldest: 2 * time.Second, DeadLetters: 1}
		return slices.Repeat([]order.QueueStats{one}, len(all)), make([]error, len(all))
	})
	m.ObservePurchase(http.StatusCreated, "", time.Millisecond)
	m.ObservePurchase(http.StatusAccepted, "in_doubt", time.Millisecond)
	m.ObservePurchase(http.StatusAccepted, "", time.Millisecond)
	m.ObservePurchase(http.StatusConflict, "sold_out", time.Millisecond)
	m.ObserveRequest("/api/v1/coupons", http.MethodGet, http.StatusOK, "", time.Millisecond)
	m.ObserveRequest("/api/v1/coupons", http.MethodGet, http.StatusNotModified, "", 2*time.Millisecond)
	m.ObserveRequest("/api/v1/coupons", http.MethodGet, http.StatusNotModified, "", 2*time.Millisecond)

	hooks := m.LockHooks()
	hooks.Waited(time.Millisecond)
	hooks.Tried(2)
	hooks.Held(2 * time.Millisecond)
	hooks.Renewed()
	hooks.Lost()
	hooks.ReleaseFailed(errAway)
	hooks.NotFreed()
	m.ObservePass("expire", 3, nil)
	m.ObservePass("reconcile", 1, errAway)
	m.ObserveGroupCommit(12, time.Millisecond)
	m.ObserveRefusal("full")
	m.WatchAdmission(func() int { return 256 }, func() int { return 17 }, func() int { return 2 })
	m.AddEvicted("redis one", 3)
	m.SetBackendAway("database", false)
	m.SetBackendAway("redis one", true)

	m.Hook()(t.Context(), order.StepReserve, nil, nothing)
	return m
}

func served(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

// twoShards has the units of two shards of the one coupon that it is asked for.
func twoShards(_ context.Context, all []coupon.Coupon) ([][]int64, []error) {
	return slices.Repeat([][]int64{{5, 4}}, len(all)), make([]error, len(all))
}

func TestMetrics_NamesAndLabels_MatchDashboards(t *testing.T) {
	text := served(t, filled(t, twoShards))
	labels := map[string]string{}
	var found []string
	for line := range strings.Lines(text) {
		if series, _, ok := strings.Cut(line, "{"); ok {
			series = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(series, "_bucket"), "_sum"), "_count")
			labels[series] = labelsOf(line)
		}
	}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) == 4 && words[1] == "TYPE" && strings.HasPrefix(words[2], "seckill_") {
			found = append(found, words[2]+" "+words[3]+" "+labels[words[2]])
		}
	}
	slices.Sort(found)
	require.Equal(t, names, found)
	for series, of := range labels {
		require.NotRegexp(t, `(^|,)(job|instance)(,|$)`, of, "Prometheus sets that label of %s", series)
	}
	require.Contains(t, text, `seckill_stock_remaining{coupon="1",shard="1"}`)
	require.NotContains(t, text, `seckill_stock_remaining{coupon="2"`, "paused")
	require.NotContains(t, text, `seckill_stock_remaining{coupon="3"`, "ended by the clock")
	require.Contains(t, text, "go_goroutines")
	require.Contains(t, text, "process_open_fds")
}

// labelsOf lists the names of a series' labels, those of a histogram's buckets apart.
func labelsOf(line string) string {
	inside := line[strings.Index(line, "{")+1 : strings.LastIndex(line, "}")]
	var all []string
	for pair := range strings.SplitSeq(inside, `",`) {
		if name, _, _ := strings.Cut(pair, "="); name != "le" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// A panel that asks for a metric of another name shows nothing, and no error.
func TestDashboard_Queries_NameExistingMetrics(t *testing.T) {
	board, err := os.ReadFile("../../../configs/grafana/dashboards/seckill.json")
	require.NoError(t, err)
	text := served(t, filled(t, twoShards))
	asked := regexp.MustCompile(`\b(seckill|go_sql)_[a-z_]+`).FindAllString(string(board), -1)
	require.Greater(t, len(asked), 10)
	for _, name := range asked {
		require.Contains(t, text, "# TYPE "+strings.TrimSuffix(name, "_bucket")+" ")
	}
}

// The conventions of Prometheus: base units, no types in names, _total for counters and
// for nothing else.
func TestMetrics_Names_FollowConventions(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(served(t, filled(t, twoShards)))).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestMetrics_Observed_AreExported(t *testing.T) {
	text := served(t, filled(t, twoShards))
	for _, line := range []string{
		`seckill_orders_total{outcome="accepted"} 1`,
		`seckill_orders_total{outcome="in_doubt"} 1`,
		`seckill_orders_total{outcome="queued"} 1`,
		`seckill_orders_total{outcome="sold_out"} 1`,
		`seckill_http_request_duration_seconds_sum{method="GET",route="/api/v1/coupons",status="200"} 0.001`,
		`seckill_http_request_duration_seconds_sum{method="GET",route="/api/v1/coupons",status="304"} 0.004`,
		`seckill_group_commit_orders_sum 12`,
		`seckill_group_commit_duration_seconds_sum 0.001`,
		`seckill_lock_attempts_total 2`,
		`seckill_lock_wait_seconds_sum 0.001`,
		`seckill_lock_held_seconds_sum 0.002`,
		`seckill_lock_events_total{event="lost"} 1`,
		`seckill_lock_events_total{event="renewed"} 1`,
		`seckill_lock_events_total{event="release_failed"} 1`,
		`seckill_lock_events_total{event="not_freed"} 1`,
		`seckill_background_items_total{task="expire"} 3`,
		`seckill_background_items_total{task="reconcile"} 1`,
		`seckill_background_failures_total{task="expire"} 0`,
		`seckill_background_failures_total{task="reconcile"} 1`,
		`seckill_backend_up{backend="database"} 1`,
		`seckill_backend_up{backend="redis one"} 0`,
		`seckill_admission_refused_total{reason="full"} 1`,
		`seckill_coupon_units{coupon="1"} 9`,
		`seckill_coupon_live_orders{coupon="1"} 11`,
		`seckill_coupon_oversold_units{coupon="1"} 2`,
		`seckill_queue_entries{coupon="1"} 6`,
		`seckill_queue_oldest_seconds{coupon="1"} 2`,
		`seckill_queue_dead_letters{coupon="1"} 1`,
		`seckill_redis_pool_timeouts_total 0`,
		`go_sql_max_open_connections{db_name="seckill"} 7`,
		`seckill_stock_remaining{coupon="1",shard="0"} 5`,
		`seckill_stock_remaining{coupon="1",shard="1"} 4`,
		`seckill_order_step_duration_seconds_count{outcome="ok",step="reserve"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.NotContains(t, text, `coupon="2"`, "it is not on sale")
}

func TestMetrics_UnreadableShard_IsLeftOut(t *testing.T) {
	text := served(t, filled(t, func(_ context.Context, all []coupon.Coupon) ([][]int64, []error) {
		return make([][]int64, len(all)), slices.Repeat([]error{errAway}, len(all))
	}))
	require.NotContains(t, text, "seckill_stock_remaining{")
	require.Contains(t, text, "seckill_orders_total{")
}

func TestMetrics_UnknownMethod_AddsNoSeries(t *testing.T) {
	m := metrics.New()
	for i := range 100 {
		m.ObserveRequest("unmatched", fmt.Sprintf("MAKEUP%d", i), http.StatusMethodNotAllowed, "method_not_allowed", time.Millisecond)
	}
	m.ObserveRequest("unmatched", http.MethodTrace, http.StatusMethodNotAllowed, "method_not_allowed", time.Millisecond)
	text := served(t, m)
	require.NotContains(t, text, "MAKEUP")
	require.Contains(t, text, `seckill_http_request_duration_seconds_count{method="other",route="unmatched",status="405"} 100`)
	require.Contains(t, text, `seckill_http_request_duration_seconds_count{method="TRACE",route="unmatched",status="405"} 1`)
}
