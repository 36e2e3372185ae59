package rush

import (
	"cmp"
	"encoding/json"
	"math"
	"time"
)

// reportJSON is the object that scripts read. docs/REPORT.md describes every key. A figure that was not measured is
// null, and no key is ever left out.
type reportJSON struct {
	Version string `json:"version"`
	Date    string `json:"date"`

	URL             string  `json:"url"`
	Coupon          string  `json:"coupon"`
	Users           int     `json:"users"`
	Units           int     `json:"units"`
	Limit           int     `json:"limit"`
	Concurrency     int     `json:"concurrency"`
	Rate            float64 `json:"rate"`
	DoubleTapEvery  int     `json:"double_tap_every"`
	SameUser        int     `json:"same_user"`
	PayPercent      int     `json:"pay_percent"`
	CancelPercent   int     `json:"cancel_percent"`
	IdempotencyKeys bool    `json:"idempotency_keys"`

	DurationMillis        float64        `json:"duration_ms"`
	Requests              int            `json:"requests"`
	RequestsPerSecond     *float64       `json:"requests_per_second"`
	HTTPRequestsPerSecond *float64       `json:"http_requests_per_second"`
	Orders                int            `json:"orders"`
	OrdersP50             *float64       `json:"orders_p50_ms"`
	OrdersP99             *float64       `json:"orders_p99_ms"`
	OrdersPerSecond       *float64       `json:"orders_per_second"`
	SellingMillis         *float64       `json:"selling_ms"`
	SoldOutAfter          *float64       `json:"sold_out_after_ms"`
	ToldToWait            int            `json:"told_to_wait"`
	UntoldP50             *float64       `json:"orders_without_wait_p50_ms"`
	UntoldP99             *float64       `json:"orders_without_wait_p99_ms"`
	Refused               int            `json:"refused"`
	RefusedBy             map[string]int `json:"refused_by"`
	RefusedP50            *float64       `json:"refused_p50_ms"`
	RefusedP99            *float64       `json:"refused_p99_ms"`
	NoAnswer              int            `json:"no_answer"`
	NoAnswerBy            map[string]int `json:"no_answer_by"`
	Queued                int            `json:"queued"`
	QueuedMillis          *float64       `json:"queued_ms"`
	Repeats               int            `json:"repeats"`

	Committed    int  `json:"committed"`
	ByOthers     *int `json:"by_others"`
	Paid         int  `json:"paid"`
	Cancelled    int  `json:"cancelled"`
	SoldAgain    *int `json:"sold_again"`
	Sold         *int `json:"sold"`
	LeftDatabase *int `json:"left_in_database"`
	LeftRedis    *int `json:"left_in_redis"`

	InOrder        *float64           `json:"in_order"`
	InOrderByShard []float64          `json:"in_order_by_shard"`
	InOrderByPath  map[string]float64 `json:"in_order_by_path"`
	Overtaken      int                `json:"overtaken"`
	OvertakenP50   *float64           `json:"overtaken_p50_ms"`
	OvertakenMost  *float64           `json:"overtaken_max_ms"`

	Oversold    int      `json:"oversold"`
	SoldTwice   int      `json:"sold_twice"`
	Lost        int      `json:"lost"`
	ReadBack    int      `json:"read_back"`
	Audit       string   `json:"audit"`
	AuditReason *string  `json:"audit_reason"`
	Violations  []string `json:"violations"`

	Stopped bool     `json:"stopped"`
	GaveUp  *string  `json:"gave_up"`
	Notes   []string `json:"notes"`
}

// MarshalJSON returns the object that scripts read.
func (r Report) MarshalJSON() ([]byte, error) {
	o, f := r.Options, r.Fairness
	refused, answered := sum(r.Refused), r.Accepted > 0
	out := reportJSON{
		Version: r.Version, Date: r.Date.UTC().Format(time.RFC3339),
		URL: o.URL, Coupon: o.Coupon, Users: o.Users, Units: r.Units, Limit: r.Limit, Concurrency: o.Concurrency, Rate: o.Rate,
		DoubleTapEvery: o.DoubleTapEvery, SameUser: o.Taps, PayPercent: o.PayPercent, CancelPercent: o.CancelPercent,
		IdempotencyKeys: o.Keys,

		DurationMillis: rounded(1000*r.Seconds, 1000), Requests: r.Asked,
		RequestsPerSecond:     measured(r.Seconds > 0, float64(r.Asked)/r.Seconds, 10),
		HTTPRequestsPerSecond: measured(r.Seconds > 0, r.RequestsPerSecond, 10),
		Orders:                r.Accepted, OrdersP50: measured(answered, r.P50Millis, 1000), OrdersP99: measured(answered, r.P99Millis, 1000),
		OrdersPerSecond: measured(answered, r.OrdersPerSecond, 10), SellingMillis: measured(answered, 1000*r.SellingSeconds, 1000),
		SoldOutAfter: measured(answered && r.SoldOut, 1000*r.SellingSeconds, 1000), ToldToWait: r.Told,
		UntoldP50: measured(answered, r.UntoldP50Millis, 1000), UntoldP99: measured(answered, r.UntoldP99Millis, 1000),
		Refused: refused, RefusedBy: orEmptyMap(r.Refused),
		RefusedP50: measured(refused > 0, r.RefusedP50Millis, 1000), RefusedP99: measured(refused > 0, r.RefusedP99Millis, 1000),
		NoAnswer: r.Failed, NoAnswerBy: orEmptyMap(r.Failures),
		Queued: r.Queued, QueuedMillis: measured(r.Queued > 0, 1000*r.QueuedIn, 1000), Repeats: r.Repeats,

		Committed: r.Committed, Paid: r.Paid, Cancelled: r.Cancelled,
		InOrderByShard: []float64{}, InOrderByPath: map[string]float64{}, InOrder: measured(r.ranked(), f.InOrder(), 10000),
		Overtaken: f.Overtaken, OvertakenP50: measured(f.Overtaken > 0, f.ByP50Millis, 1000),
		OvertakenMost: measured(f.Overtaken > 0, f.ByMaxMillis, 1000),

		Oversold: r.Oversold, SoldTwice: r.Duplicates, Lost: r.Lost, ReadBack: r.ReadBack, Audit: cmp.Or(r.Audit, AuditNotRun),
		AuditReason: said(r.AuditReason), Violations: append([]string{}, r.Violations...),
		Stopped: r.Stopped, GaveUp: said(r.GaveUp), Notes: append([]string{}, r.Notes...),
	}
	if s := r.Stores; s != nil {
		out.ByOthers, out.SoldAgain, out.Sold = &r.ByOthers, &r.SoldAgain, &s.Sold
		out.LeftDatabase, out.LeftRedis = &s.LeftInDatabase, &s.LeftInRedis
	}
	for _, inverted := range f.ByShard {
		out.InOrderByShard = append(out.InOrderByShard, rounded(1-inverted, 10000))
	}
	for path, inverted := range f.ByPath {
		out.InOrderByPath[path] = rounded(1-inverted, 10000)
	}
	return json.Marshal(out)
}

// measured returns the figure, to a part of one, or nil if it was not measured.
func measured(is bool, x, parts float64) *float64 {
	if !is {
		return nil
	}
	x = rounded(x, parts)
	return &x
}

// said returns nil for "".
func said(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func rounded(x, parts float64) float64 { return math.Round(x*parts) / parts }

func orEmptyMap(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}
