package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"example.com/seckill/internal/app"
	"example.com/seckill/internal/tools/designs"
	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

// compared are the designs of a comparison: a wrong one, a right one that is usual, and this program.
var compared = []string{"naive", "conditional-update", designs.Own}

// Comparison is what became of one crowd that came to several designs.
type Comparison struct {
	Users   int      `json:"users"`
	Units   int64    `json:"units"`
	Version string   `json:"version"`
	Date    string   `json:"date"`
	Designs []Result `json:"designs"`
}

// Result is what became of the crowd at one design.
type Result struct {
	Design     string  `json:"design"`
	Orders     int     `json:"orders"`
	Oversold   int     `json:"oversold"`
	SoldTwice  int     `json:"sold_twice"`
	Lost       int     `json:"lost"`
	SoldOutMS  float64 `json:"sold_out_after_ms"` // 0: units were left, or more orders than units were made
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	CPUPerMS   float64 `json:"cpu_per_request_ms"` // of this process: buyers, server and stores; 0: not known
	Clean      bool    `json:"clean"`
	Violations int     `json:"violations"`
}

// Compare sends the same crowd to several designs, one after the other, and prints one table. It draws the table into
// the file svg, unless svg is "". It returns an error if a right design was not clean.
func (d *Demo) Compare(ctx context.Context, svg string) error {
	c := Comparison{Users: d.Users, Units: d.Stock, Version: app.Version(), Date: time.Now().UTC().Format(time.RFC3339)}
	if svg != "" { // before the sales, which take a while
		if err := checkWritable(svg); err != nil {
			return app.Usage(fmt.Errorf("--svg: %w", err))
		}
	}
	var failed error
	for _, name := range compared {
		d.say("%-20s …\n", name)
		r, err := d.try(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		design, unknown := designs.Find(name)
		switch wrong := unknown == nil && design.Wrong(); {
		case wrong && r.Clean:
			d.say("%s shows no fault in this run: send a larger crowd with --users.\n", name)
		case !wrong && !r.Clean:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, rush.ErrViolated))
		}
		c.Designs = append(c.Designs, r)
	}
	if d.Style.JSON {
		if err := json.NewEncoder(d.Out).Encode(c); err != nil {
			return fmt.Errorf("print the comparison: %w", err)
		}
	} else if err := c.WriteText(d.Out); err != nil {
		return err
	}
	if svg != "" {
		f, err := os.Create(svg)
		if err == nil {
			err = errors.Join(c.WriteSVG(f), f.Close())
		}
		if err != nil {
			return errors.Join(failed, fmt.Errorf("draw the comparison: %w", err))
		}
	}
	return failed
}

// checkWritable returns an error if the file at path cannot be written. It leaves a file as it is.
func checkWritable(path string) error {
	_, absent := os.Stat(path)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the user's path
	if err != nil {
		if at, ok := errors.AsType[*os.PathError](err); ok {
			err = at.Err
		}
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	err = f.Close()
	if absent != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// try plays the sale with one design on stores of its own.
func (d *Demo) try(ctx context.Context, name string) (Result, error) {
	open, err := designs.New(name, true)
	if err != nil {
		return Result{}, err
	}
	one := *d
	one.NewDesign, one.KeepServing, one.Style.JSON, one.Out = open, false, true, io.Discard
	return one.measure(ctx, name)
}

// measure plays the sale and returns its figures.
func (d *Demo) measure(ctx context.Context, name string) (r Result, err error) {
	cfg, err := d.config()
	if err != nil {
		return r, err
	}
	s, err := app.Start(ctx, cfg, app.NewLog(cfg.Log, d.Log), app.Options{NewDesign: d.NewDesign})
	if taken, ok := errors.AsType[*app.ListenError](err); ok {
		return r, fmt.Errorf("%w: choose another address with --addr", taken.Err)
	}
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	if err := d.open(ctx, s); err != nil {
		return r, err
	}
	meter := cpuMeter{}
	d.ready, d.done = meter.begin, meter.end
	report, err := d.sell(ctx, s)
	switch {
	case err != nil:
		return r, err
	case report.Stopped:
		return r, errors.New("stopped before all buyers were sent")
	case report.Audit == rush.AuditNotRun:
		return r, fmt.Errorf("the sale was not audited: %s", strings.Join(report.Notes, "; "))
	}
	r = Result{
		Design: name, Orders: report.Committed, Oversold: report.Oversold, SoldTwice: report.Duplicates,
		Lost: report.Lost, P50: rounded(report.P50Millis), P99: rounded(report.P99Millis),
		SoldOutMS: rounded(soldOutAfter(report, d.Stock)),
		Clean:     report.Clean(), Violations: len(report.Violations),
	}
	if report.Asked > 0 {
		r.CPUPerMS = rounded(1000 * meter.used.Seconds() / float64(report.Asked))
	}
	return r, nil
}

// soldOutAfter returns the time from the opening to the last unit in milliseconds, and 0 if it is not known. A design
// that oversold has no such time: its orders went on after the last unit.
func soldOutAfter(r rush.Report, stock int64) float64 {
	if int64(r.Committed) != stock || r.Oversold > 0 {
		return 0
	}
	return 1000 * r.SellingSeconds
}

// rounded rounds to two decimals.
func rounded(x float64) float64 { return math.Round(100*x) / 100 }

// cpuMeter measures the processor time of this process.
type cpuMeter struct{ from, used time.Duration }

func (m *cpuMeter) begin(context.Context) error {
	m.from, _ = servers.CPU(os.Getpid()) // 0 if the system does not tell
	return nil
}

func (m *cpuMeter) end() {
	if to, err := servers.CPU(os.Getpid()); err == nil {
		m.used = to - m.from
	}
}

// rows are the lines of the table.
var rows = []struct {
	name string
	of   func(Result) string
}{
	{"orders", func(r Result) string { return whole(r.Orders) }},
	{"oversold", func(r Result) string { return whole(r.Oversold) }},
	{"sold twice", func(r Result) string { return whole(r.SoldTwice) }},
	{"lost", func(r Result) string { return whole(r.Lost) }},
	{"sold out after", func(r Result) string { return duration(r.SoldOutMS) }},
	{"p99 of orders", func(r Result) string { return duration(r.P99) }},
	{"CPU per request", func(r Result) string { return duration(r.CPUPerMS) }},
	{"audit", func(r Result) string {
		if r.Clean {
			return "clean"
		}
		return "VIOLATED"
	}},
}

// duration formats milliseconds; – is not known.
func duration(ms float64) string {
	switch {
	case ms == 0:
		return "–"
	case ms < 10:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.2f s", ms/1000)
}

// whole formats 12345 as 12,345.
func whole(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return whole(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// WriteText writes the table for a terminal of 78 columns.
func (c Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s people want %s units. Each design had the same crowd.\n\n%-15s", whole(c.Users), whole(int(c.Units)), "")
	for _, r := range c.Designs {
		fmt.Fprintf(&b, " %20s", r.Design)
	}
	for _, row := range rows {
		fmt.Fprintf(&b, "\n%-15s", row.name)
		for _, r := range c.Designs {
			b.WriteString(strings.Repeat(" ", max(0, 21-len([]rune(row.of(r))))) + row.of(r))
		}
	}
	b.WriteString("\n\nCPU per request is of this process: buyers, server and embedded stores.\n" +
		"A design that oversold has no \"sold out after\": it sold on after the stock.\n")
	_, err := io.WriteString(w, b.String())
	return err //nolint:wrapcheck // the caller's writer failed
}
