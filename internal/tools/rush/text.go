package rush

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Print writes the report as text, or as one JSON object.
func (r Report) Print(w io.Writer, asJSON bool) error {
	if !asJSON {
		return r.WriteText(w)
	}
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// WriteText writes the report for a terminal: one table whose columns are never
// added up, then the figures, then the verdict.
//
//	asked  accepted  refused                failed             committed
//	 1000       500      498 sold_out            2 timeout           500
//	                       2 limit_reached
func (r Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	r.writeTable(&b)
	r.writeFigures(&b)
	r.writeVerdict(&b)
	_, err := w.Write(b.Bytes())
	return err
}

func (r Report) writeTable(b *bytes.Buffer) {
	refused, failed := byCount(r.Refused), byCount(r.Failures)
	wide, other := widest(refused), widest(failed)
	fmt.Fprintf(b, "%10s  %10s  %10s %-*s  %10s %-*s  %10s\n",
		"asked", "accepted", "refused", wide, "", "failed", other, "", "committed")
	for i := range max(1, len(refused), len(failed)) {
		asked, accepted, committed := "", "", ""
		no, lost := count{}, count{}
		if i == 0 {
			asked, accepted, committed = strconv.Itoa(r.Asked), strconv.Itoa(r.Accepted), strconv.Itoa(r.Committed)
			no.shown, lost.shown = "0", "0"
		}
		if i < len(refused) {
			no = refused[i]
		}
		if i < len(failed) {
			lost = failed[i]
		}
		line := fmt.Sprintf("%10s  %10s  %10s %-*s  %10s %-*s  %10s",
			asked, accepted, no.shown, wide, no.name, lost.shown, other, lost.name, committed)
		b.Write(bytes.TrimRight([]byte(line), " "))
		b.WriteByte('\n')
	}
}

func (r Report) writeFigures(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n%10.1f orders/s     in the %.2f s from the first tap that got a unit to the last order\n",
		r.OrdersPerSecond, r.SellingSeconds)
	fmt.Fprintf(b, "%10.1f requests/s   in the %.2f s of the whole run, waiting included\n", r.RequestsPerSecond, r.Seconds)
	fmt.Fprintf(b, "%10.1f ms p50       %10.1f ms p99       of accepted orders\n", r.P50Millis, r.P99Millis)
	if r.Told > 0 {
		fmt.Fprintf(b, "%10.1f ms p50       %10.1f ms p99       without the waiting that the server told %d of them (Retry-After)\n",
			r.UntoldP50Millis, r.UntoldP99Millis, r.Told)
	}
	readBack := fmt.Sprintf("%d acknowledged orders read back", r.ReadBack)
	if r.ReadBack < r.Accepted {
		readBack = fmt.Sprintf("a sample of %d of %d acknowledged orders read back", r.ReadBack, r.Accepted)
	}
	fmt.Fprintf(b, "%10d oversold     %10d duplicates   %s\n", r.Oversold, r.Duplicates, readBack)
	if r.Paid+r.Cancelled > 0 {
		fmt.Fprintf(b, "%10d paid         %10d cancelled    %d sold: committed and not cancelled\n",
			r.Paid, r.Cancelled, r.Committed-r.Cancelled)
	}
	if r.Accepted > 0 && r.Refused["sold_out"]+r.Refused["not_drawn"] > 0 {
		fmt.Fprintf(b, "%10d %s\n", r.Fairness.Overtaken, r.Fairness)
		if parts := r.Fairness.parts(); parts != "" {
			fmt.Fprintf(b, "           of the refused: %s\n", parts)
		}
	}
	if r.Queued+r.Repeats > 0 {
		fmt.Fprintf(b, "%10d queued (202) %10d retries\n", r.Queued, r.Repeats)
	}
}

func (r Report) writeVerdict(b *bytes.Buffer) {
	b.WriteByte('\n')
	switch {
	case r.GaveUp != "":
		fmt.Fprintf(b, "given up: %s\n", r.GaveUp)
	case r.Stopped:
		b.WriteString("stopped before all buyers were sent\n")
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
	switch r.Audit {
	case AuditClean:
		b.WriteString("audit: clean\n")
	case AuditViolated:
		b.WriteString("audit: VIOLATED\n")
	default:
		b.WriteString("audit: not run\n")
	}
	for _, v := range r.Violations {
		fmt.Fprintf(b, "  - %s\n", v)
	}
}

// count is one row of a column that is broken down by reason.
type count struct {
	name  string
	n     int
	shown string
}

// byCount lists the reasons, the most frequent first.
func byCount(m map[string]int) []count {
	list := make([]count, 0, len(m))
	for name, n := range m {
		list = append(list, count{name, n, strconv.Itoa(n)})
	}
	slices.SortFunc(list, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name))
	})
	return list
}

func widest(list []count) int {
	w := 0
	for _, c := range list {
		w = max(w, len(c.name))
	}
	return w
}
