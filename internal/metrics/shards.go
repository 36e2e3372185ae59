package metrics

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/coupon"
)

// WatchShards exports the units in each shard of the coupons on sale, read at each scrape.
func (m *Metrics) WatchShards(known func() []coupon.Coupon, left func(ctx context.Context, id int64, shards int) ([]int64, error)) {
	m.registry.MustRegister(shardCollector{known, left})
}

type shardCollector struct {
	known func() []coupon.Coupon
	left  func(ctx context.Context, id int64, shards int) ([]int64, error)
}

var shardUnits = prometheus.NewDesc("seckill_shard_units", "Units left in a shard.", []string{"coupon", "shard"}, nil)

// Describe implements prometheus.Collector.
func (shardCollector) Describe(to chan<- *prometheus.Desc) { to <- shardUnits }

// Collect implements prometheus.Collector. Shards that cannot be read are left out, and
// the rest of the registry is served.
func (c shardCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, one := range onSale(c.known()) {
		units, err := c.left(ctx, one.ID, one.Shards)
		if err != nil {
			continue
		}
		for shard, n := range units {
			to <- prometheus.MustNewConstMetric(shardUnits, prometheus.GaugeValue, float64(n),
				strconv.FormatInt(one.ID, 10), strconv.Itoa(shard))
		}
	}
}

// onSale returns the coupons that are on sale by the clock, whatever their stored state.
func onSale(known []coupon.Coupon) []coupon.Coupon {
	now := time.Now()
	return slices.DeleteFunc(known, func(c coupon.Coupon) bool { return c.StateAt(now) != coupon.OnSale })
}
