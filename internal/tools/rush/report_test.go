package rush

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport_JSON_HasTheFieldsOfScripts(t *testing.T) {
	for name, tc := range map[string]struct {
		report Report
		want   string
	}{
		"an empty run has no null": {
			Report{},
			`{"asked":0,"accepted":0,"refused":{},"failed":0,"committed":0,"oversold":0,"duplicates":0,` +
				`"audit":"not_run","violations":[],"selling_seconds":0,"orders_per_second":0,"seconds":0,"requests_per_second":0,` +
				`"p50_ms":0,"p99_ms":0,"overtaken":0,"inversions":0,"inversions_by_shard":[],"inversions_by_path":{}}`,
		},
		"a full one has everything, and the rest only if there was any": {
			Report{
				Asked: 1000, Accepted: 500, Refused: map[string]int{"sold_out": 498, "limit_reached": 1}, Failed: 1,
				Committed: 500, Oversold: 2, Duplicates: 3, Audit: AuditViolated, Violations: []string{"lost"},
				Seconds: 2.5, SellingSeconds: 1.23456, GaveUp: "no answer", OrdersPerSecond: 405.0049, RequestsPerSecond: 810.06, P50Millis: 3.14159, P99Millis: 20.5,
				Paid: 5, Cancelled: 6, Failures: map[string]int{"timeout": 1}, Queued: 9, Stopped: true,
				Fairness: Fairness{Overtaken: 7, Inversions: 0.01234, ByShard: []float64{0.01, 0.02001}, ByPath: map[string]float64{waited: 0.01234}},
			},
			`{"asked":1000,"accepted":500,"refused":{"limit_reached":1,"sold_out":498},"failed":1,"committed":500,` +
				`"oversold":2,"duplicates":3,"audit":"violated","violations":["lost"],"selling_seconds":1.235,` +
				`"orders_per_second":405,"seconds":2.5,"requests_per_second":810.1,"p50_ms":3.142,"p99_ms":20.5,"paid":5,` +
				`"cancelled":6,"gave_up":"no answer","overtaken":7,"inversions":0.0123,"inversions_by_shard":[0.01,0.02],"inversions_by_path":{"waited":0.0123}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tc.report)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(got))
		})
	}
}

func TestReport_Text_HasItsLayout(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Report{
		Asked: 1000, Accepted: 500, Refused: map[string]int{"sold_out": 496, "limit_reached": 2}, Failed: 2,
		Failures: map[string]int{"timeout": 2}, Committed: 501, Audit: AuditViolated, Violations: []string{"lost: order 7"},
		Seconds: 2.5, SellingSeconds: 1.25, OrdersPerSecond: 400, RequestsPerSecond: 800, P50Millis: 3.25, P99Millis: 20.5,
		ReadBack: 100, Repeats: 3, Told: 2, UntoldP50Millis: 3.1, UntoldP99Millis: 9.5, Paid: 40, Cancelled: 1, Notes: []string{"it rained"},
		Fairness: Fairness{
			Overtaken: 12, Inversions: 0.0004, ByP50Millis: 1.25, ByMaxMillis: 7,
			ByShard: []float64{0.0005, 0.0003}, ByPath: map[string]float64{again: 0.002, atOnce: 0.0003},
		},
	}.WriteText(&b))
	require.Equal(t, `     asked    accepted     refused                    failed           committed
      1000         500         496 sold_out                2 timeout         501
                                 2 limit_reached

     400.0 orders/s     in the 1.25 s from the first tap that got a unit to the last order
     800.0 requests/s   in the 2.50 s of the whole run, waiting included
       3.2 ms p50             20.5 ms p99       of accepted orders
       3.1 ms p50              9.5 ms p99       without the waiting that the server told 2 of them (Retry-After)
         0 oversold              0 duplicates   a sample of 100 of 500 acknowledged orders read back
        40 paid                  1 cancelled    500 sold: committed and not cancelled
        12 overtaken by 1.2 ms p50, 7.0 at most   0.0004 of pairs inverted (0 in order, 0.5 a lottery)
           of the refused: again 0.0020   at once 0.0003   by home shard 0.0003 to 0.0005
         0 queued (202)          3 retries

note: it rained
audit: VIOLATED
  - lost: order 7
`, b.String())
}

func TestReport_NoRejections_PrintsZero(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Report{Asked: 1, Accepted: 1, Committed: 1, Audit: AuditClean}.WriteText(&b))
	require.Contains(t, b.String(), "asked    accepted     refused       failed    committed\n"+
		"         1           1           0            0            1\n")
}
