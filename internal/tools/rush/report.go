package rush

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Report is what became of a run. Accepted, refused and failed are outcomes of
// taps, each tap in one of them; committed counts the orders in the database. They are different things and
// never added up.
type Report struct {
	Asked    int            `json:"asked"`    // taps; however often one was sent, it is one
	Accepted int            `json:"accepted"` // taps that ended in an order
	Refused  map[string]int `json:"refused"`  // taps that ended in a refusal, by its code
	Failed   int            `json:"failed"`   // taps whose outcome is unknown

	// Committed is the number of orders that the audit found more than before
	// the run. Without an audit it is the number of different orders that were
	// acknowledged, which is the least it can be.
	Committed  int      `json:"committed"`
	Oversold   int      `json:"oversold"`   // units sold above the stock, by the audit or the record
	Duplicates int      `json:"duplicates"` // orders above a user's limit, and orders given out twice
	Audit      string   `json:"audit"`      // AuditClean, AuditViolated or AuditNotRun
	Violations []string `json:"violations"` // every broken promise that was found

	// SellingSeconds is the time in which the buyers of this run got units: from the first tap that got
	// one to the last acknowledged order. Waiting for refusals is not in it.
	SellingSeconds    float64 `json:"selling_seconds"`
	OrdersPerSecond   float64 `json:"orders_per_second"`   // accepted, in SellingSeconds
	Seconds           float64 `json:"seconds"`             // from the first tap to the last outcome, waiting included
	RequestsPerSecond float64 `json:"requests_per_second"` // answered requests of buyers: taps, repeats, polls, payments, cancellations
	P50Millis         float64 `json:"p50_ms"`              // latency of accepted orders, repeats and polling included,
	P99Millis         float64 `json:"p99_ms"`              // from the tap, or in an open loop from its place in the schedule

	Paid      int `json:"paid,omitempty"`      // orders whose payment was confirmed
	Cancelled int `json:"cancelled,omitempty"` // orders whose cancellation was confirmed

	GaveUp string `json:"gave_up,omitempty"` // why the run ended early, "" if the server answered to the end

	// The rest is for people and is not in the JSON.
	Failures map[string]int `json:"-"` // Failed, by reason
	Queued   int            `json:"-"` // taps first answered 202
	QueuedIn float64        `json:"-"` // seconds from the first tap to the last such answer

	Fairness Fairness `json:"-"` // of this run alone

	Told            int     `json:"-"` // accepted orders whose tap was told to wait, by Retry-After
	UntoldP50Millis float64 `json:"-"` // latency of accepted orders without that waiting
	UntoldP99Millis float64 `json:"-"`

	RefusedP50Millis float64 `json:"-"` // latency of refusals, measured as that of accepted orders
	RefusedP99Millis float64 `json:"-"`

	Repeats  int      `json:"-"` // requests that repeated a tap
	ReadBack int      `json:"-"` // acknowledged orders that their owners read again
	Stopped  bool     `json:"-"` // ctx ended before all buyers were sent
	Notes    []string `json:"-"` // worth knowing, and no violation
}

// Clean reports whether nothing was found wrong, by a finished audit too.
func (r Report) Clean() bool { return r.Audit == AuditClean && len(r.Violations) == 0 }

// MarshalJSON returns the object that scripts read. Refused, violations and inversions are
// never null; paid and cancelled are there only if there were any.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report // without this method
	out := struct {
		plain

		Overtaken  int     `json:"overtaken"`
		Inversions float64 `json:"inversions"`

		InversionsByShard []float64          `json:"inversions_by_shard"`
		InversionsByPath  map[string]float64 `json:"inversions_by_path"`
	}{plain(r), r.Fairness.Overtaken, round(r.Fairness.Inversions, 10000), []float64{}, map[string]float64{}}
	out.Seconds, out.SellingSeconds = round(r.Seconds, 1000), round(r.SellingSeconds, 1000)
	out.OrdersPerSecond, out.RequestsPerSecond = round(r.OrdersPerSecond, 10), round(r.RequestsPerSecond, 10)
	out.P50Millis, out.P99Millis = round(r.P50Millis, 1000), round(r.P99Millis, 1000)
	for _, part := range r.Fairness.ByShard {
		out.InversionsByShard = append(out.InversionsByShard, round(part, 10000))
	}
	for path, part := range r.Fairness.ByPath {
		out.InversionsByPath[path] = round(part, 10000)
	}
	if out.Refused == nil {
		out.Refused = map[string]int{}
	}
	if out.Violations == nil {
		out.Violations = []string{}
	}
	out.Audit = cmp.Or(out.Audit, AuditNotRun)
	return json.Marshal(out)
}

func round(x, parts float64) float64 { return math.Round(x*parts) / parts }

// With returns the report with what became of a later run of the same sale, and a note that tells of it.
// The times and rates stay those of the first.
func (r Report) With(later Report, note string) Report {
	r.Asked += later.Asked
	r.Accepted += later.Accepted
	r.Failed += later.Failed
	r.Refused, r.Failures = added(r.Refused, later.Refused), added(r.Failures, later.Failures)
	r.Committed += later.Committed
	r.Oversold, r.Duplicates = max(r.Oversold, later.Oversold), max(r.Duplicates, later.Duplicates)
	if r.Audit == AuditClean { // a later audit is of the whole sale
		r.Audit = later.Audit
	}
	r.Violations = slices.Concat(r.Violations, later.Violations)
	r.Paid += later.Paid
	r.Cancelled += later.Cancelled
	r.Queued += later.Queued
	r.Repeats += later.Repeats
	r.ReadBack += later.ReadBack
	r.Stopped, r.GaveUp = r.Stopped || later.Stopped, cmp.Or(r.GaveUp, later.GaveUp)
	r.Notes = slices.Concat(r.Notes, later.Notes, []string{note})
	return r
}

func added(a, b map[string]int) map[string]int {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]int{}
	}
	for name, n := range b {
		all[name] += n
	}
	return all
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// report returns the run's own half of the report, before the audit.
func (r *run) report(f findings, seconds float64) Report {
	rep := Report{
		Asked:      r.asked,
		Accepted:   r.accepted,
		Refused:    r.refused,
		Failed:     sum(r.failed),
		Committed:  f.distinct,
		Oversold:   f.oversold,
		Duplicates: f.duplicates,
		Audit:      AuditNotRun,
		Seconds:    seconds,
		P50Millis:  float64(r.latency.ValueAtQuantile(50)) / 1000,
		P99Millis:  float64(r.latency.ValueAtQuantile(99)) / 1000,
		Paid:       r.paid,
		Cancelled:  r.cancelled,
		Failures:   r.failed,
		Queued:     r.queued,
		Repeats:    r.repeats,
	}
	rep.Fairness = r.arrived.fairness(r.shards)
	rep.Told = r.toldTaps
	rep.UntoldP50Millis = float64(r.untold.ValueAtQuantile(50)) / 1000
	rep.UntoldP99Millis = float64(r.untold.ValueAtQuantile(99)) / 1000
	rep.RefusedP50Millis = float64(r.refusals.ValueAtQuantile(50)) / 1000
	rep.RefusedP99Millis = float64(r.refusals.ValueAtQuantile(99)) / 1000
	if r.queued > 0 {
		rep.QueuedIn = r.queuedAt.Sub(r.start).Seconds()
	}
	rep.SellingSeconds = r.selling()
	if rep.SellingSeconds > 0 {
		rep.OrdersPerSecond = float64(r.accepted) / rep.SellingSeconds
	}
	if seconds > 0 {
		rep.RequestsPerSecond = float64(r.requests.Load()) / seconds
	}
	return rep
}
