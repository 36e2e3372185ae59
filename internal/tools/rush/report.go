package rush

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Report is what became of a run. Accepted, refused and failed are outcomes of requests, each request in one of them;
// committed counts the orders in the database. They are different things and never added up.
//
// A request here is a buyer's wish for one unit, however often it was sent over HTTP.
type Report struct {
	Parameters

	Asked    int            // requests
	Accepted int            // requests that ended in an order
	Refused  map[string]int // requests that ended in a refusal, by its code
	Failed   int            // requests that got no answer, so their outcome is unknown
	Failures map[string]int // Failed, by reason

	// Committed is the number of orders that the audit found more than before the run. Without an audit it is the
	// number of different orders that were acknowledged, which is the least it can be.
	Committed  int
	ByOthers   int      // of Committed: orders that were not acknowledged to a buyer of the run
	Oversold   int      // units sold above the stock, by the audit or the record
	Duplicates int      // orders above a user's limit, and orders given out twice
	Lost       int      // acknowledged orders that cannot be read again, or that the audit does not count
	ReadBack   int      // acknowledged orders that their owners read again
	Stores     *Stores  // what the audit found; nil without an audit
	Audit      string   // AuditClean, AuditViolated or AuditNotRun
	Violations []string // every broken promise that was found; each begins with the rule

	// AuditReason says why the audit was not run.
	AuditReason string

	// SoldOut means that buyers got the answer sold_out, or that the audit found no unit left. SellingSeconds is the
	// time in which the buyers of this run got units: from the first request that got one, which is the opening, to
	// the last acknowledged order. Waiting for refusals is not in it.
	SoldOut           bool
	SellingSeconds    float64
	OrdersPerSecond   float64 // accepted, in SellingSeconds if the coupon was sold out, otherwise in Seconds
	Seconds           float64 // from the first request to the last outcome, waiting included
	RequestsPerSecond float64 // answered HTTP requests of buyers: purchase requests, repeats, polls, payments, cancellations
	P50Millis         float64 // latency of accepted orders, repeats and polling included,
	P99Millis         float64 // from the request, or in an open loop from its place in the schedule

	RefusedP50Millis float64 // latency of refusals, measured as that of accepted orders
	RefusedP99Millis float64

	Told            int     // accepted orders whose request was told to wait, by Retry-After
	UntoldP50Millis float64 // latency of accepted orders without that waiting
	UntoldP99Millis float64

	Paid      int // orders whose payment was confirmed
	Cancelled int // orders whose cancellation was confirmed
	SoldAgain int // units that came back during the run and were sold once more

	Queued   int      // requests first answered 202
	QueuedIn float64  // seconds from the first request to the last such answer
	Repeats  int      // HTTP requests that repeated a request
	Fairness Fairness // of this run alone

	GaveUp  string   // why the run ended early, "" if the server answered to the end
	Stopped bool     // ctx ended before all buyers were sent
	Notes   []string // worth knowing, and no violation
}

// Parameters are the settings of a run, with its date and the program's version.
type Parameters struct {
	Version string
	Date    time.Time // of the start
	Options Options   // as they were used
	Units   int       // that may be sold in all
	Left    int       // of them at the start
	Limit   int       // of one user
}

// Stores are the figures of the sale in both stores after a run.
type Stores struct {
	Sold           int // units of live orders
	LeftInDatabase int
	LeftInRedis    int
}

// Clean reports whether nothing was found wrong, by a finished audit too.
func (r Report) Clean() bool { return r.Audit == AuditClean && len(r.Violations) == 0 }

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
	r.AuditReason = cmp.Or(r.AuditReason, later.AuditReason)
	r.Violations = slices.Concat(r.Violations, later.Violations)
	r.ByOthers += later.ByOthers
	r.Lost += later.Lost
	r.SoldAgain += later.SoldAgain
	r.SoldOut = r.SoldOut || later.SoldOut
	if later.Stores != nil {
		r.Stores = later.Stores
	}
	r.Paid += later.Paid
	r.Cancelled += later.Cancelled
	r.Queued += later.Queued
	r.Repeats += later.Repeats
	r.ReadBack += later.ReadBack
	r.Stopped, r.GaveUp = r.Stopped || later.Stopped, cmp.Or(r.GaveUp, later.GaveUp)
	r.Notes = slices.Concat(r.Notes, later.Notes, []string{note})
	return r
}

// rate returns the accepted orders per second while there was stock: the whole run if the coupon was not sold out.
func (r Report) rate() float64 {
	while := r.Seconds
	if r.SoldOut {
		while = r.SellingSeconds
	}
	if while <= 0 {
		return 0
	}
	return float64(r.Accepted) / while
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

// parameters returns the settings of the run.
func (r *run) parameters() Parameters {
	date := r.start
	if date.IsZero() {
		date = time.Now()
	}
	return Parameters{Version: r.Version, Date: date, Options: r.Options, Units: r.stock, Left: r.sale.Left, Limit: r.sale.Limit}
}

// report returns the run's own half of the report, before the audit.
func (r *run) report(f findings, seconds float64) Report {
	rep := Report{
		Parameters: r.parameters(),
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
	rep.SoldOut = r.accepted > 0 && r.refused[codeSoldOut] > 0
	rep.SellingSeconds = r.selling()
	rep.OrdersPerSecond = rep.rate()
	if seconds > 0 {
		rep.RequestsPerSecond = float64(r.requests.Load()) / seconds
	}
	return rep
}
