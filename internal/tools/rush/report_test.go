package rush

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// soldOut is the report of a sale in which everything happened.
func soldOut() Report {
	return Report{
		Parameters: Parameters{
			Version: "1.2.3", Date: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC), Units: 500, Limit: 1,
			Options: Options{URL: "http://127.0.0.1:8080", Coupon: "7", Users: 10_000, Concurrency: 128, DoubleTapEvery: 3, PayPercent: 10, CancelPercent: 5, Keys: true},
		},
		Asked: 13_333, Accepted: 555, Refused: map[string]int{codeSoldOut: 12_680, codeLimitReached: 94, "cooldown": 2},
		Failed: 2, Failures: map[string]int{"timeout": 2}, Committed: 556, ByOthers: 1, ReadBack: 555,
		Audit: AuditClean, Stores: &Stores{Sold: 500}, SoldOut: true, SellingSeconds: 0.923456, OrdersPerSecond: 601.04,
		Seconds: 2.5, RequestsPerSecond: 5400.06, P50Millis: 34.4, P99Millis: 67, RefusedP50Millis: 2.25, RefusedP99Millis: 1030,
		Told: 59, UntoldP50Millis: 33, UntoldP99Millis: 60, Paid: 60, Cancelled: 56, SoldAgain: 56,
		Queued: 9, QueuedIn: 1.5, Repeats: 61, Notes: []string{"a fact that is worth knowing"},
		Fairness: Fairness{
			Overtaken: 113, Inversions: 0.0004, ByP50Millis: 39, ByMaxMillis: 40,
			ByShard: []float64{0.01, 0.02001}, ByPath: map[string]float64{waited: 0.01234, atOnce: 0.0003, again: 0.44},
		},
	}
}

func text(t *testing.T, r Report, s Style) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteText(&b, s))
	return b.String()
}

func TestReport_Text_TellsTheSale(t *testing.T) {
	t.Parallel()
	require.Equal(t, `  coupons  ██████████████████████████████████  500 of 500 sold
  people   ██████████████████████████████████  13,333 requests in 2.50 s

         555  bought                    orders
      12,680  came too late             sold_out
          94  have bought already       limit_reached
           2  were rejected             cooldown
           2  got no answer             timeout

  answered after        p50       p99   50 and 99 of 100 were faster than this
  orders              34 ms     67 ms
  refused            2.2 ms  1,030 ms

  Sold out after 0.92 s, 601 orders a second while there was stock.
  First come, first served: 99.9 % in order. A raffle would be 50 %.
  60 orders were paid.
  56 orders were cancelled, and 56 units that came back were sold again.
  In the database are 555 orders by this crowd, 1 by other buyers, or by
  requests that got no answer.

Note: a fact that is worth knowing.
AUDIT CLEAN  500 of 500 sold, 0 left
  oversold 0   sold twice 0   lost 0 of 555 read back   Redis 0 = database 0

  watch it   seckill demo --open
`, text(t, soldOut(), Style{Next: [][2]string{{"watch it", "seckill demo --open"}}}))
}

func TestReport_VisitorOfThePageBought_NamesHim(t *testing.T) {
	t.Parallel()
	r := soldOut()
	r.Failed, r.Failures = 0, nil
	require.Contains(t, text(t, r, Style{}), "555 orders by this crowd, 1 by another buyer, such as\n  you on the page.")
}

func TestReport_Details_PrintsTheOtherFigures(t *testing.T) {
	t.Parallel()
	r := soldOut()
	r.ReadBack = 100
	got := text(t, r, Style{Details: true})
	_, details, found := strings.Cut(got, "\nDetails\n")
	require.True(t, found)
	details, _, _ = strings.Cut(details, "\n\n")
	require.Equal(t, `  5,400 HTTP requests were answered a second: purchase requests, repeats,
  polls, payments, cancellations.
  61 requests were sent again, after no answer or a rejection that allows it.
  9 requests were first answered 202 and decided later (queued).
  The first request that got a unit and the last order are 0.92 s apart.
  The server told 59 buyers to wait (Retry-After). Without that waiting p50 is
  33 ms, p99 60 ms.
  556 orders are new in the database since the start of the run; a sample of
  100 of 555 was read back by their owners.
  113 requests came before the last buyer and got nothing: by 39 ms (p50),
  40 ms at most.
  In order, by how the rejected requests were answered: at once 99.9 %, sent
  again 56.0 %, queued 98.7 %.
  In order, by the buyers' home shards: 97.9 % to 99.0 %.`, details)
	require.NotContains(t, text(t, r, Style{}), "Details")
}

func TestReport_EveryText_Fits78Columns(t *testing.T) {
	t.Parallel()
	large := soldOut()
	large.Units, large.Options.Users = 1_000_000, 1_000_000
	large.Asked, large.Accepted, large.ReadBack, large.Committed = 1_333_333, 1_000_000, 1_000, 1_000_001
	large.Stores = &Stores{Sold: 1_000_000, LeftInDatabase: 123_456, LeftInRedis: 123_455}
	large.Violations = slices.Repeat([]string{"lost: order 123456789012345 of user 1000000 was acknowledged and cannot be read: not_found"}, 101)
	large.Audit, large.GaveUp = AuditViolated, "the server stopped answering: every request failed for 5s, the latest with no_connection"
	unaudited := soldOut()
	unaudited.Audit, unaudited.Stores, unaudited.AuditReason = AuditNotRun, nil, strings.Repeat("a long reason ", 10)
	for name, r := range map[string]Report{"sold out": soldOut(), "the largest": large, "not audited": unaudited, "nothing": {}} {
		for line := range strings.Lines(text(t, r, Style{Details: true})) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 78, "%s: %s", name, line)
		}
	}
}

func TestReport_Violated_PrintsRulesAndABoundedList(t *testing.T) {
	t.Parallel()
	r := soldOut()
	r.Audit, r.Oversold, r.Stores = AuditViolated, 2, &Stores{Sold: 502, LeftInDatabase: -2, LeftInRedis: 0}
	r.Violations = []string{"oversold: 502 live orders were acknowledged for 500 units: after the last unit came order 71, 72"}
	got := text(t, r, Style{Colour: true})
	require.Contains(t, got, red+"AUDIT VIOLATED"+plain+"  502 of 500 sold, -2 left\n")
	require.Contains(t, got, "  oversold 2   sold twice 0")
	require.Contains(t, got, "Redis 0 ≠ database -2\n  ✘ oversold: 502 live orders were acknowledged for 500 units: after the last\n  unit came order 71, 72\n")
	r.Violations = slices.Repeat([]string{"lost: order 7"}, 25)
	require.Equal(t, mostShown, strings.Count(text(t, r, Style{}), "✘ lost: order 7\n"))
	require.Contains(t, text(t, r, Style{}), "  ✘ and 15 more, which --json lists\n")
}

func TestReport_Colour_IsOnlyInTheVerdict(t *testing.T) {
	t.Parallel()
	got := text(t, soldOut(), Style{Colour: true, Details: true})
	require.Contains(t, got, green+"AUDIT CLEAN"+plain)
	require.Equal(t, 2, strings.Count(got, "\x1b"))
	require.NotContains(t, text(t, soldOut(), Style{Details: true}), "\x1b")
}

func TestReport_NotAudited_SaysWhy(t *testing.T) {
	t.Parallel()
	r := soldOut()
	r.Audit, r.Stores, r.AuditReason = AuditNotRun, nil, "there is no administrator's token: set SECKILL_AUTH__SECRET"
	got := text(t, r, Style{Colour: true})
	require.Contains(t, got, "AUDIT NOT RUN: there is no administrator's token: set SECKILL_AUTH__SECRET.\n")
	require.Contains(t, got, "  555 orders by the answers\n")
	for _, invented := range []string{"oversold", "sold twice", "lost", "sold again", "of 500 sold"} {
		require.NotContains(t, got, invented)
	}
}

func TestReport_ViolatedWithoutAudit_ListsOnlyTheViolations(t *testing.T) {
	t.Parallel()
	r := soldOut()
	r.Audit, r.Stores, r.Violations = AuditViolated, nil, []string{"lost: order 7"}
	got := text(t, r, Style{Details: true})
	require.Contains(t, got, "AUDIT VIOLATED  by the answers to the buyers, without the server's audit\n  ✘ lost: order 7\n")
	require.NotContains(t, got, "new in the database")
}

func TestReport_StoppedBeforeItBegan_InventsNothing(t *testing.T) {
	t.Parallel()
	r := Report{Audit: AuditNotRun, Stopped: true}
	r.Options.Users = 10
	got := text(t, r, Style{})
	require.Contains(t, got, "  coupons  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0 orders by the answers\n")
	require.Contains(t, got, "No request was sent.")
}

func TestReport_NotSoldOut_PrintsNoRateOfTheStock(t *testing.T) {
	t.Parallel()
	r := soldOut()
	r.SoldOut, r.OrdersPerSecond = false, 20
	require.Contains(t, text(t, r, Style{}), "  Not sold out. 20 orders a second.\n")
	r.OrdersPerSecond = 0.4
	require.Contains(t, text(t, r, Style{}), "  Not sold out.\n")
	r.SoldOut = true
	require.Contains(t, text(t, r, Style{}), "  Sold out after 0.92 s.\n")
}

func TestReport_UnitsCameBack_SaysFromWhere(t *testing.T) {
	t.Parallel()
	r := soldOut()
	r.Cancelled, r.SoldAgain = 0, 1
	require.Contains(t, text(t, r, Style{}), "\n  1 unit that came back was sold again.\n")
	r.Cancelled, r.SoldAgain = 19, 38
	require.Contains(t, text(t, r, Style{}), "  19 orders were cancelled. With those of other or expired orders, 38 units\n  that came back were sold again.\n")
}

func TestReport_RejectedForTheClient_NamesTheReason(t *testing.T) {
	t.Parallel()
	r := soldOut()
	r.Refused = map[string]int{codeInProgress: 3, codeUnauthenticated: 2}
	got := text(t, r, Style{})
	require.Contains(t, got, "  had a request in progress request_in_progress\n")
	require.Contains(t, got, "  had no valid token        unauthenticated\n")
}

func TestHeading_Crowd_IsInTheWordsOfAShop(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		o            Options
		units, limit int
	}{
		"10,000 people want 500 coupons, one each. Every third of them tries twice.": {Options{Users: 10_000, DoubleTapEvery: 3}, 500, 1},
		"1 person wants 1 coupon, at most 2 each.":                                   {Options{Users: 1}, 1, 2},
		"5 people want 1 coupon. Every 7th of them tries twice.":                     {Options{Users: 5, DoubleTapEvery: 7}, 1, 0},
		"One user sends 20 requests at once for 500 coupons, one each.":              {Options{Taps: 20}, 500, 1},
		"500 people want a coupon, and none is left.":                                {Options{Users: 500, DoubleTapEvery: 3}, 0, 1},
		"One user sends 20 requests at once, and no coupon is left.":                 {Options{Taps: 20}, 0, 1},
	} {
		require.Equal(t, want, c.o.Heading(c.units, c.limit))
	}
}

// keys returns the keys of a report's JSON in their order.
func keys(t *testing.T, r Report) (all []string) {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	dec := json.NewDecoder(strings.NewReader(string(text)))
	depth := 0
	for isKey := false; ; {
		token, err := dec.Token()
		if err != nil {
			return all
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			isKey = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			isKey = depth == 1
			continue
		}
		if depth == 1 && isKey {
			all = append(all, token.(string))
		}
		if depth == 1 {
			isKey = !isKey
		}
	}
}

func TestReport_JSONKeys_AreAllDocumentedInOrder(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/REPORT.md")
	require.NoError(t, err)
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, m[1])
	}
	require.Equal(t, keys(t, soldOut()), documented)
	require.Equal(t, keys(t, Report{}), documented, "no key is ever left out")
}

func TestReport_JSON_HasTheFiguresOfTheText(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(soldOut())
	require.NoError(t, err)
	require.JSONEq(t, `{"version":"1.2.3","date":"2030-01-02T03:04:05Z","url":"http://127.0.0.1:8080","coupon":"7","users":10000,"units":500,
		"limit":1,"concurrency":128,"rate":0,"double_tap_every":3,"same_user":0,"pay_percent":10,"cancel_percent":5,"idempotency_keys":true,
		"duration_ms":2500,"requests":13333,"requests_per_second":5333.2,"http_requests_per_second":5400.1,
		"orders":555,"orders_p50_ms":34.4,"orders_p99_ms":67,"orders_per_second":601,"selling_ms":923.456,"sold_out_after_ms":923.456,
		"told_to_wait":59,"orders_without_wait_p50_ms":33,"orders_without_wait_p99_ms":60,
		"refused":12776,"refused_by":{"sold_out":12680,"limit_reached":94,"cooldown":2},"refused_p50_ms":2.25,"refused_p99_ms":1030,
		"no_answer":2,"no_answer_by":{"timeout":2},"queued":9,"queued_ms":1500,"repeats":61,
		"committed":556,"by_others":1,"paid":60,"cancelled":56,"sold_again":56,"sold":500,"left_in_database":0,"left_in_redis":0,
		"in_order":0.9996,"in_order_by_shard":[0.99,0.98],"in_order_by_path":{"queued":0.9877,"at once":0.9997,"sent again":0.56},
		"overtaken":113,"overtaken_p50_ms":39,"overtaken_max_ms":40,
		"oversold":0,"sold_twice":0,"lost":0,"read_back":555,"audit":"clean","audit_reason":null,"violations":[],
		"stopped":false,"gave_up":null,"notes":["a fact that is worth knowing"]}`, string(got))
}

func TestReport_JSONOfNothing_HasNullForWhatWasNotMeasured(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Report{})
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	for _, key := range []string{"orders_p50_ms", "refused_p99_ms", "sold_out_after_ms", "sold", "in_order", "requests_per_second"} {
		require.Contains(t, got, key)
		require.Nil(t, got[key], key)
	}
	require.Equal(t, "not_run", got["audit"])
	require.Equal(t, []any{}, got["violations"])
	require.Equal(t, map[string]any{}, got["refused_by"])
}
