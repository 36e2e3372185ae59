package audit_test

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/apptest"
)

// BenchmarkAudit measures the time and the memory of an audit:
//
//	SECKILL_SIZE=1000000 go test -run '^$' -bench Audit -benchtime 1x ./internal/audit
func BenchmarkAudit(b *testing.B) {
	n := apptest.Size(b, 5_000)
	s := apptest.Open(b)
	c := s.SoldOut(b, n, "paid")
	s.WatchSlowest(b)
	debug.FreeOSMemory()
	had := apptest.ResetPeak(b)
	began := time.Now()
	for b.Loop() {
		r, err := s.Auditor.Audit(b.Context(), c.ID)
		require.NoError(b, err)
		require.True(b, r.Clean && r.Settled && r.Loaded, "%+v", r)
		require.EqualValues(b, n, r.Live)
	}
	b.ReportMetric(float64(n*b.N)/time.Since(began).Seconds(), "orders/s")
	b.ReportMetric(apptest.Peak(b)-had, "MiB")
	b.ReportMetric(s.Slowest(b), "ms/slowest-call")
}
