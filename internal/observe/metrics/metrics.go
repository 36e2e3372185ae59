// Package metrics counts the program's work for Prometheus.
//
// The order path does not import it. The order path calls a hook around each step, so place.go stays a page about the
// order of the steps:
//
//	order.Service ─▶ Hook [time] ─▶ reserve, lock, commit, confirm, release
//	              ─▶ [time] order.Database   ─▶ store: payment, cancellation, expiry
package metrics

import (
	"cmp"
	"database/sql"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

// Metrics is a registry of this program's own metrics, and of those of the Go runtime and the process.
type Metrics struct {
	Live LiveStats // the last seconds

	registry     *prometheus.Registry
	steps        *prometheus.HistogramVec
	orders       *prometheus.CounterVec
	requests     *prometheus.HistogramVec
	answered     series[answered, prometheus.Observer] // of requests
	outcomes     series[string, prometheus.Counter]    // of orders
	lockWait     prometheus.Histogram
	lockAttempts prometheus.Counter
	lockHeld     prometheus.Histogram
	lockEvents   *prometheus.CounterVec
	items        *prometheus.CounterVec
	failures     *prometheus.CounterVec
	groupOrders  prometheus.Histogram
	groupCommits prometheus.Histogram
	up           *prometheus.GaugeVec
	refused      *prometheus.CounterVec
	unavailable  *prometheus.CounterVec
	clocks       *prometheus.GaugeVec
	evicted      *prometheus.CounterVec
}

// durations are the buckets of all times: 0.1 ms to 3.3 s, each twice the one before.
var durations = prometheus.ExponentialBuckets(0.0001, 2, 16)

// New returns a registry in which nothing was counted yet.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), Live: LiveStats{latencies: newLatencyWindow()}}
	m.newOrderMetrics()
	m.newLockMetrics()
	m.items = m.counters("seckill_background_items_total",
		"Orders expired, units relayed, holds reconciled, entries consumed, sales restored and ended ones freed.", "task")
	m.failures = m.counters("seckill_background_failures_total", "Background passes that failed.", "task")
	m.up = m.gauges("seckill_backend_up", "1 while a backend answers, 0 while its circuit is open.", "backend")
	m.clocks = m.gauges("seckill_clock_offset_seconds", "How far this instance's clock is ahead of a server's.", "server")
	m.evicted = m.counters("seckill_redis_evicted_keys_total", "Keys that a server of Redis dropped to make room.", "server")
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) newOrderMetrics() {
	m.steps = m.histograms("seckill_order_step_duration_seconds",
		"Time in each step of the order path.", "step", "outcome")
	m.orders = m.counters("seckill_orders_total",
		"Purchase requests by outcome: accepted, queued, in_doubt, or the code of the refusal.", "outcome")
	m.requests = m.histograms("seckill_http_request_duration_seconds",
		"Time of HTTP requests.", "route", "method", "status")
	m.refused = m.counters("seckill_admission_refused_total",
		"Purchase requests that were not admitted, by reason: full, waited or late.", "reason")
	m.unavailable = m.counters("seckill_store_errors_total",
		"Requests that were refused because of a store, by cause.", "cause")
	m.groupOrders = m.histogram("seckill_group_commit_orders", "Orders committed in one transaction.",
		prometheus.ExponentialBuckets(1, 2, 10))
	m.groupCommits = m.histogram("seckill_group_commit_duration_seconds",
		"Time of one transaction of a group commit, begin to commit.", durations)
}

func (m *Metrics) newLockMetrics() {
	m.lockWait = m.histogram("seckill_lock_wait_seconds", "Time to acquire a lock, or to be refused it.", durations)
	m.lockAttempts = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "seckill_lock_attempts_total", Help: "Acquire requests sent to the lock's server.",
	})
	m.registry.MustRegister(m.lockAttempts)
	m.lockHeld = m.histogram("seckill_lock_held_seconds", "Time that locks were held.", durations)
	m.lockEvents = m.counters("seckill_lock_events_total",
		"Leases renewed, lost, releases that failed, and abandoned keys that were not freed.", "event")
	m.lockEvents.WithLabelValues("lost") // from 0, so that the first is seen as an increase
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: durations}, labels)
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

// Handler serves the registry.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, Timeout: 5 * time.Second})
}

// answered names a series of answered requests.
type answered struct {
	route, method string
	status        int
}

// ObserveRequest counts one answered request.
func (m *Metrics) ObserveRequest(route, method string, status int, _ string, d time.Duration) {
	key := answered{route, boundedMethod(method), status}
	m.answered.of(key, func() prometheus.Observer {
		return m.requests.WithLabelValues(key.route, key.method, strconv.Itoa(key.status))
	}).Observe(d.Seconds())
}

// ObservePurchase counts one answered purchase request: 201 is an order, 202 one that is
// queued or in doubt, and anything else a refusal that has a code.
func (m *Metrics) ObservePurchase(status int, code string, d time.Duration) {
	switch status {
	case http.StatusCreated:
		code = "accepted"
		m.Live.latencies.add(d)
	case http.StatusAccepted:
		code = cmp.Or(code, "queued")
	}
	m.outcomes.of(code, func() prometheus.Counter { return m.orders.WithLabelValues(code) }).Inc()
}

// boundedMethod returns the method, or "other" for one that HTTP does not define. A client may send any word, and
// each would be a series of its own for as long as the process lives.
func boundedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

// LockHooks returns hooks that count what a locker does.
func (m *Metrics) LockHooks() lock.Hooks {
	return lock.Hooks{
		Waited:        func(d time.Duration) { m.lockWait.Observe(d.Seconds()) },
		Tried:         func(n int) { m.lockAttempts.Add(float64(n)) },
		Held:          func(d time.Duration) { m.lockHeld.Observe(d.Seconds()) },
		Renewed:       func() { m.lockEvents.WithLabelValues("renewed").Inc() },
		Lost:          func() { m.lockEvents.WithLabelValues("lost").Inc() },
		ReleaseFailed: func(error) { m.lockEvents.WithLabelValues("release_failed").Inc() },
		NotFreed:      func() { m.lockEvents.WithLabelValues("not_freed").Inc() },
	}
}

// ObservePass counts a pass of a background task: the items that it worked on, and the pass itself if it failed. The
// failures of a task begin at 0 with its first pass, so Prometheus sees the first failure as an increase.
func (m *Metrics) ObservePass(task string, items int, err error) {
	m.items.WithLabelValues(task).Add(float64(items))
	failures := m.failures.WithLabelValues(task)
	if err != nil {
		failures.Inc()
	}
}

// ObserveGroupCommit counts a transaction that committed the orders of many requests.
func (m *Metrics) ObserveGroupCommit(orders int, took time.Duration) {
	m.groupOrders.Observe(float64(orders))
	m.groupCommits.Observe(took.Seconds())
}

// ObserveRefusal counts a purchase request that was not admitted.
func (m *Metrics) ObserveRefusal(reason string) { m.refused.WithLabelValues(reason).Inc() }

// ObserveUnavailable counts a request that was refused because of a store.
func (m *Metrics) ObserveUnavailable(cause string) { m.unavailable.WithLabelValues(cause).Inc() }

// StartUnavailable begins the count of each cause at 0, so Prometheus sees the first as an increase.
func (m *Metrics) StartUnavailable(cause string) { m.unavailable.WithLabelValues(cause) }

// WatchAdmission exports the limit on orders at once, and how full it is.
func (m *Metrics) WatchAdmission(limit, atWork, waiting func() int) {
	for _, g := range []struct {
		name, help string
		value      func() int
	}{
		{"seckill_admission_limit", "Orders that may be placed at once, at present.", limit},
		{"seckill_admission_in_flight", "Orders that are being placed.", atWork},
		{"seckill_admission_waiting", "Purchase requests that wait to be admitted.", waiting},
	} {
		m.gauge(g.name, g.help, func() float64 { return float64(g.value()) })
	}
}

// SetBackendAway records that the circuit of a backend opened or closed.
func (m *Metrics) SetBackendAway(backend string, away bool) {
	up := 1.0
	if away {
		up = 0
	}
	m.up.WithLabelValues(backend).Set(up)
}

// ClockOffset notes how far the own clock is ahead of a server's.
func (m *Metrics) ClockOffset(server string, ahead time.Duration) {
	m.clocks.WithLabelValues(server).Set(ahead.Seconds())
}

// ForgetClock drops a server that has left.
func (m *Metrics) ForgetClock(server string) { m.clocks.DeleteLabelValues(server) }

// AddEvicted counts keys that a server of Redis dropped. It may count none, so that the first is an increase.
func (m *Metrics) AddEvicted(server string, keys int64) {
	m.evicted.WithLabelValues(server).Add(float64(keys))
}

// WatchPools exports the connections to the database, as go_sql_…, and to Redis.
func (m *Metrics) WatchPools(db *sql.DB, client redis.UniversalClient) {
	m.registry.MustRegister(collectors.NewDBStatsCollector(db, "seckill"))
	m.gauge("seckill_redis_pool_connections", "Connections to Redis.",
		func() float64 { return float64(client.PoolStats().TotalConns) })
	m.gauge("seckill_redis_pool_idle_connections", "Idle connections to Redis.",
		func() float64 { return float64(client.PoolStats().IdleConns) })
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "seckill_redis_pool_timeouts_total", Help: "Calls that got no connection to Redis in time.",
	}, func() float64 { return float64(client.PoolStats().Timeouts) }))
}

// WatchLog exports how many lines of the log were dropped.
func (m *Metrics) WatchLog(dropped func() int) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "seckill_log_lines_dropped_total", Help: "Lines of the log that were dropped because it was not read in time.",
	}, func() float64 { return float64(dropped()) }))
}

func (m *Metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}
