package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// WatchQueues exports the queues of the coupons on sale, read at each scrape. Entries that
// were claimed from dead consumers are in seckill_background_items_total.
func (m *Metrics) WatchQueues(known func() []coupon.Coupon,
	read func(ctx context.Context, id int64, shards int) (order.QueueStats, error),
) {
	m.registry.MustRegister(queueCollector{known, read})
}

type queueCollector struct {
	known func() []coupon.Coupon
	read  func(ctx context.Context, id int64, shards int) (order.QueueStats, error)
}

var (
	queueEntries = prometheus.NewDesc("seckill_queue_entries", "Requests in the queues of a coupon.",
		[]string{"coupon"}, nil)
	queueOldest = prometheus.NewDesc("seckill_queue_oldest_seconds", "Age of the oldest request in the queues of a coupon.",
		[]string{"coupon"}, nil)
	queueDead = prometheus.NewDesc("seckill_queue_dead_letters", "Dead-lettered entries of a coupon.",
		[]string{"coupon"}, nil)
)

// Describe implements prometheus.Collector.
func (queueCollector) Describe(to chan<- *prometheus.Desc) {
	to <- queueEntries
	to <- queueOldest
	to <- queueDead
}

// Collect implements prometheus.Collector. Queues that cannot be read are left out.
func (c queueCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, one := range onSale(c.known()) {
		w, err := c.read(ctx, one.ID, one.Shards)
		if err != nil {
			continue
		}
		id := strconv.FormatInt(one.ID, 10)
		to <- prometheus.MustNewConstMetric(queueEntries, prometheus.GaugeValue, float64(w.Entries), id)
		to <- prometheus.MustNewConstMetric(queueOldest, prometheus.GaugeValue, w.Oldest.Seconds(), id)
		to <- prometheus.MustNewConstMetric(queueDead, prometheus.GaugeValue, float64(w.DeadLetters), id)
	}
}
