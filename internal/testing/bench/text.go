package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// column is one figure in a table, or several of which a row has one.
type column struct {
	head string
	of   metric
	form func(float64) string
}

var (
	whole = func(v float64) string { return grouped(int64(v + 0.5)) }
	one   = func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	times = func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	known = func(v float64) string {
		if v == 0 {
			return "–"
		}
		return one(v)
	}
	three = func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	// share formats a ratio, which is absent where there is no denominator.
	share = func(v float64) string {
		if v == 0 {
			return "–"
		}
		return three(v)
	}
)

var speeds = []column{
	{"CPU of all processes, µs", cpuAll, one},
	{"of a bare request's", costOfBare, times},
	{"asked", asked, whole},
	{"accepted", accepted, whole},
	{"committed", committed, whole},
	{"refused", refused, whole},
	{"failed", failed, whole},
	{"per second", rate, whole},
	{"requests/s", requestRate, whole},
	{"p50, ms", p50, one},
	{"p99, ms", p99, one},
	{"scheduling latency, ms", schedLatency, known},
}

var ratios = []column{{"of the bare route", ofBare, share}, {"of single", ofSingle, share}}

var costs = []column{
	{"CPU of the program, µs", cpuProgram, one},
	{"of the database", cpuDatabase, one},
	{"of Redis", cpuRedis, one},
	{"of the generator", cpuCrowd, one},
	{"Redis scripts", redisScripts, three},
	{"Redis commands, in scripts too", redisCommands, three},
	{"Redis bytes in", redisIn, whole},
	{"out", redisOut, whole},
	{"kept", redisMemory, whole},
	{"SQL statements", statements, three},
	{"commits", commits, three},
	{"rows written", rowsWritten, three},
	{"rows read", rowsRead, three},
	{"SQL bytes in", databaseIn, whole},
	{"out", databaseOut, whole},
	{"fsyncs", fsyncs, three},
	{"redo bytes", redoBytes, whole},
	{"memory of the program, MiB", memory, one},
}

// spread shows what a cluster costs, and the busiest master's share.
var spread = []column{
	{"CPU of the programs, µs", cpuProgram, one},
	{"of the database", cpuDatabase, one},
	{"of all Redis", cpuRedis, one},
	{"of the generator", cpuCrowd, one},
	{"scripts at the busiest master", busiest, three},
}

// WriteText writes the report as Markdown, which is a table in a terminal too.
func (r *Report) WriteText(w io.Writer) error {
	var t strings.Builder
	for _, line := range r.Environment {
		t.WriteString("- " + line + "\n")
	}
	for _, name := range r.Absent {
		t.WriteString("- not measured, because this build has it not: " + name + "\n")
	}
	table(&t, "Paths", "path", r.Paths, speeds, ratios)
	for _, p := range r.Paths {
		fmt.Fprintf(&t, "- %s: %s\n", p.Name, p.Note)
	}
	if q, ok := r.called(queue); ok {
		fmt.Fprintf(&t, "- %s: %s answers 202 a second\n", queue, whole(q[queuedRate]))
	}
	table(&t, "What one answer costs", "path", r.Paths, costs)
	table(&t, "Designs", "design", r.Designs, speeds)
	if r.Ordering != "" {
		t.WriteString("\nWhat follows is measured on: " + r.Ordering + "\n")
	}
	peak := []column{{"memory of the program, MiB", memory, one}}
	table(&t, "Instances and masters of a Redis Cluster", "fleet", slices.Concat(r.Fleets, r.BareFleets), speeds, spread)
	table(&t, "Growth with coupons", "on sale at once", r.Coupons, speeds)
	table(&t, "Growth with buyers", "who bought the coupon before", r.Buyers, speeds)
	table(&t, "Offered load", "arrivals", slices.Concat(r.Load, r.BareLoad), speeds, peak)
	table(&t, "Overload", "arrivals", slices.Concat(r.Overload, r.BareOverload), speeds, peak)
	if targets := r.Targets(); len(targets) > 0 {
		t.WriteString("\n## Targets\n\n| what | is | target | the bare route | |\n|---|--:|--:|--:|---|\n")
		for _, x := range targets {
			fmt.Fprintf(&t, "| %s | %.3g | %s | %s | %s |\n", x.What, x.Is, x.limit(), x.reference(), x.verdict())
		}
	}
	r.writeVerdict(&t)
	_, err := io.WriteString(w, t.String())
	return err //nolint:wrapcheck // there is nothing to add
}

func table(t *strings.Builder, title, first string, rows []Row, parts ...[]column) {
	if len(rows) == 0 {
		return
	}
	var columns []column
	for _, p := range parts {
		columns = append(columns, p...)
	}
	fmt.Fprintf(t, "\n## %s\n\n| %s |", title, first)
	for _, c := range columns {
		t.WriteString(" " + c.head + " |")
	}
	t.WriteString("\n|---|" + strings.Repeat("--:|", len(columns)) + "\n")
	for _, r := range rows {
		t.WriteString("| " + r.Name + " |")
		for _, c := range columns {
			t.WriteString(" " + c.form(r.figures[c.of]) + " |")
		}
		t.WriteString("\n")
	}
	t.WriteString("\n")
}

func (r *Report) writeVerdict(t *strings.Builder) {
	if len(r.Violations) == 0 {
		fmt.Fprintf(t, "\naudit: clean after every one of %d measurements\n", r.Audits)
		return
	}
	t.WriteString("\naudit: VIOLATED, so these are no speeds\n")
	for _, v := range r.Violations {
		t.WriteString("  - " + v + "\n")
	}
}

// grouped formats 12345 as 12,345.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
