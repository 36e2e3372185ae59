package rush

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// These are the values of Report.Audit.
const (
	AuditClean    = "clean"    // the server's audit and the generator's own checks found nothing
	AuditViolated = "violated" // at least one promise was broken: see the violations
	AuditNotRun   = "not_run"  // no admin rights, or the audit could not be finished
)

// auditReport is the server's audit of one coupon.
type auditReport struct {
	Clean      bool        `json:"clean"`
	Settled    bool        `json:"settled"`
	Total      int         `json:"total"`
	Stock      int         `json:"stock"`
	Redis      int         `json:"redis"`
	Orders     int         `json:"orders"` // ever committed: live and ended, not void
	Holds      int         `json:"holds"`
	Returns    int         `json:"returns"`
	Oversold   int         `json:"oversold"`
	Duplicates int         `json:"duplicates"`
	Violations []string    `json:"violations"`
	Shards     []int64     `json:"shards"`
	Invariants []invariant `json:"invariants"`
}

// invariant is one promise and whether it holds: ok, violated, unsettled, not_run.
type invariant struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// atRest reports whether no hold and no return is open. Until then a difference between
// Redis and the database is legitimate.
func (in auditReport) atRest() bool { return in.Settled && in.Holds+in.Returns == 0 }

// fetchAudit returns the server's audit. It takes as long as the sale is large, so it has
// a timeout of its own.
func (r *run) fetchAudit(ctx context.Context) (auditReport, error) {
	var in auditReport
	client := *r.client
	client.Timeout = r.timeouts.audit
	at := r.root + r.prefix
	if r.AdminURL != "" {
		at = strings.TrimSuffix(r.AdminURL, "/")
	}
	err := getBy(ctx, &client, at, "/api/v1/admin/coupons/"+r.Coupon+"/audit", r.AdminToken, &in)
	return in, err
}

// auditEvery is the time between audits while the sale is not at rest. Each reads the
// whole sale, so they are not frequent.
const auditEvery = 250 * time.Millisecond

// minAudits is the number of audits for which there is always time.
const minAudits = 3

// fetchAuditAtRest waits until the sale is at rest, at most r.bounds.rest or as long as
// three audits take, and returns the last audit that was read.
func (r *run) fetchAuditAtRest(ctx context.Context) (auditReport, error) {
	began := time.Now()
	last := began.Add(r.timeouts.atRest)
	var seen auditReport
	var err error
	for {
		var in auditReport
		asked := time.Now()
		in, err = r.fetchAudit(ctx)
		r.noteAudit(asked, err)
		if err == nil {
			seen = in
			if in.atRest() {
				return in, nil
			}
		} else if no := (*refusal)(nil); errors.As(err, &no) && no.status < http.StatusInternalServerError &&
			no.status != http.StatusTooManyRequests {
			return seen, err
		}
		if by := began.Add(minAudits * time.Since(asked)); by.After(last) {
			last = by
		}
		if time.Now().After(last) || !sleep(ctx, auditEvery) {
			return seen, err
		}
	}
}

// soldAgain returns the units that came back between two audits and were sold once more. The units that were left at
// the first audit, and those that a raise added, are sold first. An oversold unit never came back.
func soldAgain(before, after auditReport) int {
	orders := after.Orders - before.Orders
	fresh := max(0, before.Stock) + after.Total - before.Total
	cameBack := orders - fresh + after.Stock
	return max(0, min(orders-fresh-max(0, after.Oversold-before.Oversold), cameBack))
}

// noteAudit ends the run if the server is gone.
func (r *run) noteAudit(asked time.Time, err error) {
	var a answer
	if no := (*refusal)(nil); errors.As(err, &no) {
		a, err = answer{status: no.status, code: no.code}, nil
	}
	if gone := r.silence.note(asked, a, err); gone != nil {
		r.abandon(gone)
	}
}

// checkAudit compares the audit with the answers to the buyers.
func (r *run) checkAudit(in auditReport, committed, distinct int) {
	if !in.atRest() {
		r.violation("not at rest: the sale was not at rest after %v: %d holds and %d returns are open",
			r.timeouts.atRest, in.Holds, in.Returns)
	}
	if committed < distinct {
		r.violation("lost: %d orders were acknowledged and only %d are committed", distinct, committed)
	}
	if in.Clean && len(in.Violations) == 0 {
		return
	}
	for _, v := range in.Violations {
		r.violation("audit: %s", v)
	}
	if len(in.Violations) > 0 {
		return
	}
	named := 0
	for _, i := range in.Invariants {
		if i.Status == "violated" {
			r.violation("audit: %s %s: %s", i.ID, i.Text, i.Detail)
			named++
		}
	}
	if named == 0 && in.atRest() {
		r.violation("audit: not clean, and it names no invariant")
	}
}
