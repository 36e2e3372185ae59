package metrics

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// WatchShards exports the units in each shard of the coupons on sale.
func (m *Metrics) WatchShards(known func() []coupon.Coupon, left func(ctx context.Context, all []coupon.Coupon) ([][]int64, []error)) {
	units := prometheus.NewDesc("seckill_stock_remaining", "Units left in a shard.", []string{"coupon", "shard"}, nil)
	m.registry.MustRegister(saleCollector{[]*prometheus.Desc{units}, known, func(ctx context.Context, all []coupon.Coupon, tell tellGauge) {
		shards, errs := left(ctx, all)
		for i, c := range all {
			if errs[i] != nil {
				continue
			}
			for shard, n := range shards[i] {
				tell(c, units, float64(n), strconv.Itoa(shard))
			}
		}
	}})
}

// Sales has the numbers of one coupon in the database.
type Sales struct{ Units, Orders, Oversold int64 }

// WatchSales exports the units and the live orders of the coupons on sale, as the database counts them.
func (m *Metrics) WatchSales(known func() []coupon.Coupon, count func(ctx context.Context, all []coupon.Coupon) ([]Sales, []error)) {
	labels := []string{"coupon"}
	units := prometheus.NewDesc("seckill_coupon_units", "Units that a coupon has on sale in all.", labels, nil)
	orders := prometheus.NewDesc("seckill_coupon_live_orders", "Orders of a coupon that are pending or paid.", labels, nil)
	oversold := prometheus.NewDesc("seckill_coupon_oversold_units", "Live orders of a coupon above its units.", labels, nil)
	gauges := []*prometheus.Desc{units, orders, oversold}
	m.registry.MustRegister(saleCollector{gauges, known, func(ctx context.Context, all []coupon.Coupon, tell tellGauge) {
		sales, errs := count(ctx, all)
		for i, c := range all {
			if n := sales[i]; errs[i] == nil {
				tell(c, units, float64(n.Units))
				tell(c, orders, float64(n.Orders))
				tell(c, oversold, float64(n.Oversold))
			}
		}
	}})
}

// WatchQueues exports the queues of the coupons on sale. Entries that were claimed from dead consumers are in
// seckill_background_items_total.
func (m *Metrics) WatchQueues(known func() []coupon.Coupon,
	read func(ctx context.Context, all []coupon.Coupon) ([]order.QueueStats, []error),
) {
	labels := []string{"coupon"}
	entries := prometheus.NewDesc("seckill_queue_entries", "Requests in the queues of a coupon.", labels, nil)
	oldest := prometheus.NewDesc("seckill_queue_oldest_seconds", "Age of the oldest request in the queues of a coupon.", labels, nil)
	dead := prometheus.NewDesc("seckill_queue_dead_letters", "Dead-lettered entries of a coupon.", labels, nil)
	gauges := []*prometheus.Desc{entries, oldest, dead}
	m.registry.MustRegister(saleCollector{gauges, known, func(ctx context.Context, all []coupon.Coupon, tell tellGauge) {
		queues, errs := read(ctx, all)
		for i, c := range all {
			if w := queues[i]; errs[i] == nil {
				tell(c, entries, float64(w.Entries))
				tell(c, oldest, w.Oldest.Seconds())
				tell(c, dead, float64(w.DeadLetters))
			}
		}
	}})
}

// saleCollector reads every coupon on sale at each scrape, in few round trips. It leaves out a coupon that it cannot
// read, so the rest of the registry is served.
type saleCollector struct {
	gauges []*prometheus.Desc // with the label coupon before others
	known  func() []coupon.Coupon
	read   func(ctx context.Context, all []coupon.Coupon, tell tellGauge)
}

// tellGauge sends the value of a gauge of a coupon.
type tellGauge func(c coupon.Coupon, of *prometheus.Desc, value float64, labels ...string)

// Describe implements prometheus.Collector.
func (c saleCollector) Describe(to chan<- *prometheus.Desc) {
	for _, gauge := range c.gauges {
		to <- gauge
	}
}

// Collect implements prometheus.Collector.
func (c saleCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.read(ctx, onSale(c.known()), func(one coupon.Coupon, of *prometheus.Desc, value float64, labels ...string) {
		id := strconv.FormatInt(one.ID, 10)
		to <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, append([]string{id}, labels...)...)
	})
}

// onSale returns the coupons that are on sale by the clock, whatever their stored state.
func onSale(known []coupon.Coupon) []coupon.Coupon {
	now := time.Now()
	return slices.DeleteFunc(known, func(c coupon.Coupon) bool { return c.StateAt(now) != coupon.OnSale })
}
