// Package metrics counts what the program does, for Prometheus.
//
// The order path knows nothing of it: each step is measured by a decorator around
// the small interface that the step is behind, so that place.go stays a page about
// the order of things. The room exists for that reason.
//
//	order.Service ─▶ [time] order.Stock ─▶ stock
//	              ─▶ [time] order.Locker ─▶ lock
//	              ─▶ [time] order.Transactor ─▶ store
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

	"seckill/internal/lock"
)

// Metrics is a registry of our own with what this program counts.
type Metrics struct {
	Pulse Pulse // the last moments

	registry *prometheus.Registry
	steps    *prometheus.HistogramVec
	orders   *prometheus.CounterVec
	requests *prometheus.HistogramVec
	waits    prometheus.Histogram
	tries    prometheus.Counter
	held     prometheus.Histogram
	locks    *prometheus.CounterVec
	work     *prometheus.CounterVec
	groups   prometheus.Histogram
	commits  prometheus.Histogram
	away     *prometheus.GaugeVec
	refused  *prometheus.CounterVec
}

// New makes the registry.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "seckill_step_seconds", Help: "Time in each step of the order path.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}, []string{"step", "outcome"}),
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seckill_orders_total", Help: "Requests to buy by outcome: accepted, queued, in_doubt, or the code of the refusal.",
		}, []string{"outcome"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "seckill_http_request_seconds", Help: "Time of HTTP requests.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}, []string{"route", "method", "status"}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "seckill_lock_wait_seconds", Help: "Time to acquire a lock, or to be told that it cannot be had.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		tries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "seckill_lock_tries_total", Help: "Requests to the lock's server to acquire.",
		}),
		held: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "seckill_lock_held_seconds", Help: "Time that locks were held.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		locks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seckill_lock_events_total",
			Help: "Leases renewed, lost, releases that failed, and abandoned keys that were not freed.",
		}, []string{"event"}),
		work: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seckill_background_total",
			Help: "Orders expired, units relayed, holds settled, sales restored and ended ones freed; and failed passes.",
		}, []string{"job", "result"}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "seckill_group_orders", Help: "Orders committed in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "seckill_group_seconds", Help: "Time of one transaction of a group, begin to commit.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		away: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "seckill_server_away", Help: "1 while a server does not answer and is not asked.",
		}, []string{"server"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seckill_admission_refused_total", Help: "Requests to buy that got no place, by why: full, waited or late.",
		}, []string{"why"}),
	}
	m.registry.MustRegister(m.steps, m.orders, m.requests, m.waits, m.tries, m.held, m.locks, m.work, m.away, m.groups, m.commits, m.refused,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the registry.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, Timeout: 5 * time.Second})
}

// placing is the route whose answers are the orders' outcomes.
const placing = "/api/v1/coupons/:id/orders"

// ObserveRequest counts one answered request.
func (m *Metrics) ObserveRequest(route, method string, status int, code string, d time.Duration) {
	m.requests.WithLabelValues(route, known(method), strconv.Itoa(status)).Observe(d.Seconds())
	if route != placing || method != http.MethodPost {
		return
	}
	switch status {
	case http.StatusCreated:
		code = "accepted"
		m.Pulse.latencies.add(time.Now(), d)
	case http.StatusAccepted:
		code = cmp.Or(code, "queued")
	}
	m.orders.WithLabelValues(code).Inc()
}

// known is the method, or "other": a client may send any word, and each would be a
// series of its own for as long as the process lives.
func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

// LockHooks counts what the locker tells.
func (m *Metrics) LockHooks() lock.Hooks {
	return lock.Hooks{
		Waited:        func(d time.Duration) { m.waits.Observe(d.Seconds()) },
		Tried:         func(n int) { m.tries.Add(float64(n)) },
		Held:          func(d time.Duration) { m.held.Observe(d.Seconds()) },
		Renewed:       func() { m.locks.WithLabelValues("renewed").Inc() },
		Lost:          func() { m.locks.WithLabelValues("lost").Inc() },
		ReleaseFailed: func(error) { m.locks.WithLabelValues("release_failed").Inc() },
		NotFreed:      func() { m.locks.WithLabelValues("not_freed").Inc() },
	}
}

// Did counts background work.
func (m *Metrics) Did(job string, n int, err error) {
	m.work.WithLabelValues(job, "done").Add(float64(n))
	if err != nil {
		m.work.WithLabelValues(job, "failed").Inc()
	}
}

// Grouped counts a transaction that committed the orders of many.
func (m *Metrics) Grouped(orders int, took time.Duration) {
	m.groups.Observe(float64(orders))
	m.commits.Observe(took.Seconds())
}

// Refused counts a request that was not let in.
func (m *Metrics) Refused(why string) { m.refused.WithLabelValues(why).Inc() }

// Admission watches the orders that are made at once, and who waits for that.
func (m *Metrics) Admission(limit, atWork, waiting func() int) {
	for _, g := range []struct {
		name, help string
		value      func() int
	}{
		{"seckill_admission_limit", "Orders that may be made at once, as things are.", limit},
		{"seckill_admission_orders", "Orders that are being made.", atWork},
		{"seckill_admission_waiting", "Requests that wait for their turn to buy.", waiting},
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help},
			func() float64 { return float64(g.value()) }))
	}
}

// Away notes that a server is away, or answers again.
func (m *Metrics) Away(server string, away bool) {
	value := 0.0
	if away {
		value = 1
	}
	m.away.WithLabelValues(server).Set(value)
}

// Pools watches the connections to the database and to Redis.
func (m *Metrics) Pools(db func() sql.DBStats, client redis.UniversalClient) {
	gauge := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("seckill_sql_connections_in_use", "Connections to the database in use.", func() float64 { return float64(db().InUse) })
	gauge("seckill_sql_connections_idle", "Idle connections to the database.", func() float64 { return float64(db().Idle) })
	gauge("seckill_sql_waits", "How often somebody waited for a connection to the database.",
		func() float64 { return float64(db().WaitCount) })
	gauge("seckill_redis_connections", "Connections to Redis.", func() float64 { return float64(client.PoolStats().TotalConns) })
	gauge("seckill_redis_connections_idle", "Idle connections to Redis.", func() float64 { return float64(client.PoolStats().IdleConns) })
	gauge("seckill_redis_timeouts", "How often nobody got a connection to Redis in time.",
		func() float64 { return float64(client.PoolStats().Timeouts) })
}
