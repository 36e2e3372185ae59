package scale

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a run has measured.
type Report struct {
	Sales     []Sale // for half of the buyers, for all, and for half of them again
	Limits    Limits
	Busy      bool
	Began     time.Time
	Load      float64 // the load average before the run,
	LoadAfter float64 // and after it
	// Undisturbed reports whether Redis had a higher priority than other processes.
	Undisturbed    bool
	NoSchedLatency string // why it is not known how late threads are woken; "" if it is
}

// Sale is one of them.
type Sale struct {
	Buyers int64
	Rows   []Row
}

// Row is what a phase took.
type Row struct {
	Phase        string
	Items        int64 // orders or holds
	Took         time.Duration
	CPU          time.Duration // of the program, Redis and the database, with the orders of the other coupon
	Memory       Memory
	Call         Call          // that kept Redis busy for the longest time
	Foreign      float64       // of the machine's processor time, the part that went to other work; 0 is none, or not known
	SchedLatency time.Duration // how late a thread of the highest priority was woken at most; 0 is not known
	RowHeld      time.Duration // the longest time that the coupon's row was waited for
	Others       Latency       // of the other coupon, meanwhile
	Filled       string        // what was filled in by SQL, or by commands to Redis
	Notes        []string
	Violated     []string // by the audit, or by the generator's record
}

// Memory is the most that was resident, in bytes.
type Memory struct{ Program, Redis, Database int64 }

// Call is one call of Redis, and the percentiles of the commands for which they are largest.
type Call struct {
	Took, P99, Median time.Duration
	What              string
}

func (r *Row) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// String is a line of progress.
func (r Row) String() string {
	return fmt.Sprintf("%s %d in %s (%s of processor time); %s MiB; calls of %s, p99 %s, scheduling latency %s; the row %s; "+
		"others p50 %s, p99 %s, %d of %d refused",
		r.Phase, r.Items, short(r.Took), short(r.CPU), r.Memory, short(r.Call.Took), short(r.Call.P99), short(r.SchedLatency), short(r.RowHeld),
		short(r.Others.P50), short(r.Others.P99), r.Others.Refused, r.Others.Refused+r.Others.Orders)
}

func (m Memory) String() string {
	return fmt.Sprintf("%s, %s, %s", mib(m.Program), mib(m.Redis), mib(m.Database))
}

// columns are those of the table.
var columns = []string{
	"phase", "of", "half took", "took", "times", "processor time, times",
	"program, Redis, MariaDB, MiB", "program with half, MiB", "call of Redis: longest, p99, median", "scheduling latency", "row waited for",
	"other coupon p50, p99", "refused",
}

// cells are the lines of the table: those of the larger sale, beside the smaller one.
func (r *Report) cells() (all [][]string) {
	if len(r.Sales) == 0 {
		return nil
	}
	whole := r.whole()
	for _, row := range whole.Rows {
		halves, before := r.halves(row.Phase), Row{}
		if len(halves) > 0 {
			before = mean(halves)
		}
		ratio := func(a, b time.Duration) string {
			if row.Items == 0 || b == 0 {
				return ""
			}
			return fmt.Sprintf("%.2f", over(a, b))
		}
		of, took, tookHalf := "", "", ""
		if row.Items > 0 {
			of, took = strconv.FormatInt(row.Items, 10), short(row.Took).String()
			var each []string
			for _, half := range halves {
				each = append(each, short(half.Took).String())
			}
			tookHalf = strings.Join(each, ", ")
		}
		all = append(all, []string{
			row.Phase, of, tookHalf, took, ratio(row.Took, before.Took),
			short(whole.own(row)).String() + nonEmpty(", ", ratio(whole.own(row), before.CPU)),
			row.Memory.String(), mib(before.Memory.Program),
			short(row.Call.Took).String() + ", " + short(row.Call.P99).String() + ", " + short(row.Call.Median).String(),
			short(row.SchedLatency).String(), short(row.RowHeld).String(),
			short(row.Others.P50).String() + ", " + short(row.Others.P99).String(),
			fmt.Sprintf("%d of %d", row.Others.Refused, row.Others.Orders+row.Others.Refused),
		})
	}
	return all
}

func nonEmpty(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// WriteText writes the table for a terminal.
func (r *Report) WriteText(to io.Writer) error {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(out, strings.Join(columns, "\t"))
	for _, line := range r.cells() {
		_, _ = fmt.Fprintln(out, strings.Join(line, "\t"))
	}
	if err := out.Flush(); err != nil {
		return err //nolint:wrapcheck // to the terminal
	}
	_, err := fmt.Fprintf(to, "\n%s", strings.Join(r.remarks(), "\n")+"\n")
	return err //nolint:wrapcheck // to the terminal
}

// WriteMarkdown writes it for a document.
func (r *Report) WriteMarkdown(to io.Writer) error {
	var text strings.Builder
	line := func(cells []string) { text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(columns)
	text.WriteString("|---|" + strings.Repeat("--:|", len(columns)-1) + "\n")
	for _, cells := range r.cells() {
		line(cells)
	}
	text.WriteString("\n")
	for _, remark := range r.remarks() {
		text.WriteString("- " + remark + "\n")
	}
	_, err := io.WriteString(to, text.String())
	return err //nolint:wrapcheck // the caller names the file
}

// remarks are what the table has no column for.
func (r *Report) remarks() (all []string) {
	all = append(all, fmt.Sprintf("%s UTC, %d cores for all; load average %.1f before, %.1f after.",
		r.Began.UTC().Format("2006-01-02 15:04"), runtime.NumCPU(), r.Load, r.LoadAfter))
	if r.Busy {
		all = append(all, "Beside other work: growth is judged by processor time, and calls of Redis by the "+
			"median of the slowest command: others also waited for a core.")
	}
	all = append(all, r.sharedRemark()...)
	if r.NoSchedLatency != "" {
		all = append(all, "The scheduling latency of this machine is not known, so no call of Redis is excused by it: "+r.NoSchedLatency)
	}
	if r.Undisturbed {
		all = append(all, "Redis has the highest priority of all processes: its calls do not wait for a core.")
	}
	if slices.ContainsFunc(r.Sales, func(s Sale) bool { return len(s.Rows) > 0 && s.Rows[0].Phase == calmPhase }) {
		all = append(all, "Processor time is without that of the other coupon's orders, each of which counts as one of the calm.")
	}
	for _, s := range r.Sales {
		for _, row := range s.Rows {
			name := fmt.Sprintf("%s, %d buyers: ", row.Phase, s.Buyers)
			if row.Filled != "" {
				all = append(all, name+"filled in: "+row.Filled+".")
			}
			for _, note := range row.Notes {
				all = append(all, name+note+".")
			}
			if row.Call.Took > r.Limits.Call/2 {
				all = append(all, fmt.Sprintf("%sa call of %s: %s.", name, short(row.Call.Took), row.Call.What))
			}
		}
	}
	for _, broken := range r.Broken() {
		all = append(all, "BROKEN: "+broken)
	}
	if len(r.Broken()) == 0 {
		all = append(all, "Every bound holds: calls of Redis, growth, memory of the program, audits.")
	}
	return all
}

// short has three digits at least.
func short(d time.Duration) time.Duration {
	for unit := 100 * time.Millisecond; unit > time.Microsecond; unit /= 10 {
		if cmp.Compare(d, 100*unit) >= 0 {
			return d.Round(unit)
		}
	}
	return d.Round(time.Microsecond)
}

func mib(bytes int64) string { return strconv.FormatInt(bytes>>20, 10) }
