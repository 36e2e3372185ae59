package mutation

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// Report tries all mutants, prints a line for each killer as it goes, and reports
// whether every mutant was killed.
func Report(ctx context.Context, out io.Writer, root string, all []Mutant) (bool, error) {
	red, err := Whole(ctx, root, all)
	if err != nil {
		return false, err
	}
	for _, r := range red {
		_, _ = fmt.Fprintf(out, "%s: %s, by %s\n%s\n", r.Verdict, r.Killer, r.By, indent(r.Output))
	}
	bad := len(red)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, m := range all {
		results, err := m.Try(ctx, root)
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.Path, err)
		}
		for _, r := range results {
			_, _ = fmt.Fprintf(table, "%-16s\t%5.1f s\t%-36s\t%s\n", r.Verdict, r.Took.Seconds(), m.Name(), r.by())
			_ = table.Flush()
			if r.Verdict != Killed {
				bad++
				_, _ = fmt.Fprintf(out, "  %s\n%s\n", m.Mutation, indent(r.Output))
			}
		}
	}
	_, _ = fmt.Fprintf(out, "%d mutants, %d not killed\n", len(all), bad)
	return bad == 0, nil
}

// Name is the patch's name without folder and ending.
func (m Mutant) Name() string { return strings.TrimSuffix(filepath.Base(m.Path), ".patch") }

func (r Result) by() string {
	if r.By != "" {
		return r.By
	}
	return r.Killer.String()
}

// indent sets the last lines of what a run said apart.
func indent(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-12):], "\n    ")
}
