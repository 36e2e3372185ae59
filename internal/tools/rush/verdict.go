package rush

import "errors"

// ErrViolated is that a rush or its audit found a violation, which the report lists.
var ErrViolated = errors.New("rush: violated")

// Verdict returns nil if the run was good: it was played to its end and found no violation. If the audit is required,
// a run without one is not good: promises that were not checked are not kept as far as anyone knows.
func (r Report) Verdict(auditRequired bool) error {
	switch {
	case len(r.Violations) > 0 || r.Audit == AuditViolated:
		return ErrViolated
	case r.GaveUp != "":
		return errors.New("given up: " + r.GaveUp)
	case r.Stopped:
		return errors.New("stopped before all buyers were sent")
	case auditRequired && r.Audit == AuditNotRun:
		return errors.New("the sale was not audited: " + r.AuditReason)
	}
	return nil
}
