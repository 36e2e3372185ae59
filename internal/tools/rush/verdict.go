package rush

import (
	"errors"
	"strings"
)

// ErrViolated is that a rush or its audit found a violation, which the report lists.
var ErrViolated = errors.New("rush: violated")

// Verdict returns an error unless all is well: a rush whose audit was requested must have
// been audited and be clean, and one without a secret must have found no violation.
func (r Report) Verdict(audited bool) error {
	switch {
	case len(r.Violations) > 0 || r.Audit == AuditViolated:
		return ErrViolated
	case r.GaveUp != "":
		return errors.New("given up: " + r.GaveUp)
	case r.Stopped:
		return errors.New("stopped before all buyers were sent")
	case audited && r.Audit == AuditNotRun:
		return errors.New("the sale was not audited: " + strings.Join(r.Notes, "; "))
	}
	return nil
}
