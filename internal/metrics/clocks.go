package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func newClocks() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "seckill_clock_offset_seconds", Help: "How far this instance's clock is ahead of a server's.",
	}, []string{"server"})
}

// ClockOffset notes how far the own clock is ahead of a server's.
func (m *Metrics) ClockOffset(server string, ahead time.Duration) {
	m.clocks.WithLabelValues(server).Set(ahead.Seconds())
}

// ForgetClock drops a server that has left.
func (m *Metrics) ForgetClock(server string) { m.clocks.DeleteLabelValues(server) }
