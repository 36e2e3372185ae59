package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the report for a terminal, or as one JSON object.
func (r Report) Print(w io.Writer, asJSON bool) error {
	if !asJSON {
		return r.WriteText(w)
	}
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// WriteText writes the report for a terminal.
func (r Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "coupon %d\tT %d on sale\tD %d in the database\tA %d live orders\tR %d in %d shards\th %d holds\tG %d returns\n",
		int64(r.CouponID), r.Total, r.Stock, r.Live, r.Redis, len(r.Shards), r.Holds, r.Returns)
	if err := t.Flush(); err != nil {
		return err //nolint:wrapcheck // the caller's writer failed
	}
	for _, i := range r.Invariants {
		_, _ = fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", i.ID, i.Status, i.Text, i.Detail)
	}
	verdict := "clean"
	switch {
	case !r.Clean:
		verdict = fmt.Sprintf("violated (%d)", len(r.Violations))
	case !r.Settled:
		verdict = "clean so far: requests are in progress"
	}
	_, _ = fmt.Fprintf(t, "  audit: %s\n", verdict)
	return t.Flush() //nolint:wrapcheck // the caller's writer failed
}
