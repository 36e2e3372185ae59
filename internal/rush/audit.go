package rush

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// What the report says about the audit.
const (
	AuditClean    = "clean"    // the server's audit and the generator's own checks found nothing
	AuditViolated = "violated" // at least one promise was broken: see the violations
	AuditNotRun   = "not_run"  // no admin rights, or the audit could not be finished
)

// inspection is the server's audit of one coupon.
type inspection struct {
	Clean      bool        `json:"clean"`
	Settled    bool        `json:"settled"`
	Total      int         `json:"total"`
	Stock      int         `json:"stock"`
	Orders     int         `json:"orders"` // ever committed: live and ended, not void
	Holds      int         `json:"holds"`
	Returns    int         `json:"returns"`
	Oversold   int         `json:"oversold"`
	Duplicates int         `json:"duplicates"`
	Violations []string    `json:"violations"`
	Invariants []invariant `json:"invariants"`
}

// invariant is one promise and whether it holds: ok, violated, unsettled, not_run.
type invariant struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// atRest says whether nothing is on its way any more. Before that, a difference
// between Redis and the database is no fault.
func (in inspection) atRest() bool { return in.Settled && in.Holds+in.Returns == 0 }

// inspect asks for the audit. It takes as long as the sale is large, and not as long as a
// buyer's request may.
func (r *run) inspect(ctx context.Context) (inspection, error) {
	var in inspection
	client := *r.client
	client.Timeout = r.bounds.audit
	err := r.getBy(ctx, &client, "/api/v1/admin/coupons/"+r.Coupon+"/audit", r.AdminToken, &in)
	return in, err
}

// restEvery is how often the audit is asked for while it is not at rest. It reads
// the whole sale, so not too often.
const restEvery = 250 * time.Millisecond

// audits is how many are asked for at least.
const audits = 3

// inspectAtRest waits until the sale is at rest, at most r.bounds.rest or as long as
// three audits take, and returns the last audit that was read.
func (r *run) inspectAtRest(ctx context.Context) (inspection, error) {
	began := time.Now()
	last := began.Add(r.bounds.rest)
	var seen inspection
	var err error
	for {
		var in inspection
		asked := time.Now()
		if in, err = r.inspect(ctx); err == nil {
			seen = in
			if in.atRest() {
				return in, nil
			}
		} else if no := (*refusal)(nil); errors.As(err, &no) && no.status < http.StatusInternalServerError &&
			no.status != http.StatusTooManyRequests {
			return seen, err
		}
		if by := began.Add(audits * time.Since(asked)); by.After(last) {
			last = by
		}
		if time.Now().After(last) || !sleep(ctx, restEvery) {
			return seen, err
		}
	}
}

// holdAgainst compares the audit with what the buyers were told.
func (r *run) holdAgainst(in inspection, committed, distinct int) {
	if !in.atRest() {
		r.violation("the sale was not at rest after %v: %d holds and %d returns are open",
			r.bounds.rest, in.Holds, in.Returns)
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
		r.violation("audit: not clean, and it does not say why")
	}
}
