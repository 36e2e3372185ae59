package audit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
)

func FuzzReport_AnyReport_RoundTrips(f *testing.F) {
	whole, err := json.Marshal(audit.Report{CouponID: 7, Clean: true, Shards: []int64{1, -2}, Violations: []string{"I1: x"}})
	require.NoError(f, err)
	f.Add(whole)
	f.Add([]byte(`{"coupon_id":7}`))
	f.Add([]byte(`{"coupon_id":"x"}`))
	f.Add([]byte(`{"coupon_id":null,"taken_at":"2030-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r, again audit.Report
		if json.Unmarshal(text, &r) != nil {
			return
		}
		written, err := json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(written, &again))
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(written), string(twice))
	})
}
