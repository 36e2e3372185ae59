package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "ms": millis, "rate": rate, "seconds": seconds, "optional": optional, "counts": counts,
}).Parse(pageText))

// report is one run of one or more scenarios.
type report struct {
	Name      string     `json:"name"` // of its folder, the time of its start
	At        string     `json:"at"`
	On        string     `json:"on"` // stores of the server
	Revision  string     `json:"revision"`
	Machine   string     `json:"machine"`
	Settings  string     `json:"settings"` // of the server
	Scenarios []scenario `json:"scenarios"`

	Before []report `json:"-"` // earlier reports, the newest first
}

// Failed reports whether a scenario has failed.
func (r report) Failed() bool {
	return slices.ContainsFunc(r.Scenarios, func(s scenario) bool { return !s.Passed() })
}

// Verdict names the scenarios that have failed.
func (r report) Verdict() string {
	var failed []string
	for _, s := range r.Scenarios {
		if !s.Passed() {
			failed = append(failed, s.Name)
		}
	}
	if len(failed) > 0 {
		return "FAILED: " + strings.Join(failed, ", ")
	}
	return fmt.Sprintf("PASSED, %d of %d scenarios", len(r.Scenarios), len(r.Scenarios))
}

// Names returns the names of the scenarios.
func (r report) Names() string {
	names := make([]string, len(r.Scenarios))
	for i, s := range r.Scenarios {
		names[i] = s.Name
	}
	return strings.Join(names, " ")
}

// Parameters returns the settings of the load test, which all scenarios share, and a warning for each factor that is
// not 1, or soak that is not of the usual duration. They are empty if no scenario has figures.
func (r report) Parameters() (p struct {
	Line     string
	Warnings []string
},
) {
	i := slices.IndexFunc(r.Scenarios, func(s scenario) bool { return s.Peak > 0 })
	if i < 0 {
		return p
	}
	s := r.Scenarios[i]
	p.Line = fmt.Sprintf("peak %s requests/s, duration factor %v, latency factor %v, %s users",
		decimal(s.Peak), s.DurationFactor, s.LatencyFactor, number(s.Users))
	if s.DurationFactor != 1 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("duration factor %v: each stage takes %[1]v times the usual time", s.DurationFactor))
	}
	if s.LatencyFactor != 1 {
		p.Warnings = append(p.Warnings, fmt.Sprintf(`latency factor %v: latency and "not sent" may be %[1]v times the usual`, s.LatencyFactor))
	}
	for _, s := range r.Scenarios {
		if s.SoakDuration != "" && s.SoakDuration != "30m" {
			p.Warnings = append(p.Warnings, fmt.Sprintf("soak duration %s: the usual is 30m", s.SoakDuration))
		}
	}
	return p
}

// comparison compares a scenario with the same scenario of an earlier run.
type comparison struct {
	Scenario, With string
	Changes        []string
}

// Comparisons compares each scenario with its newest earlier run that has the same settings and stores.
func (r report) Comparisons() (all []comparison) {
	for _, s := range r.Scenarios {
		if s.Peak == 0 {
			continue
		}
		hadOther := false
		for _, b := range r.Before {
			i := slices.IndexFunc(b.Scenarios, func(o scenario) bool { return o.Name == s.Name && o.Peak > 0 })
			if i < 0 {
				continue
			}
			o := b.Scenarios[i]
			isSame := o.Peak == s.Peak && o.DurationFactor == s.DurationFactor && o.SoakDuration == s.SoakDuration &&
				b.On == r.On && b.Settings == r.Settings
			if !isSame {
				hadOther = true
				continue
			}
			with := strings.TrimSuffix(b.At+", "+b.Revision, ", ")
			all = append(all, comparison{Scenario: s.Name, With: with, Changes: changes(o.figures, s.figures)})
			hadOther = false
			break
		}
		if hadOther {
			all = append(all, comparison{Scenario: s.Name, With: "no earlier run has the same settings"})
		}
	}
	return all
}

func changes(before, now figures) (all []string) {
	add := func(what string, a, b *float64, unit string) {
		if a != nil && b != nil {
			all = append(all, fmt.Sprintf("%s %s → %s%s", what, decimal(*a), decimal(*b), unit))
		}
	}
	add("orders p99", before.OrdersP99, now.OrdersP99, " ms")
	add("refused p99", before.RefusedP99, now.RefusedP99, " ms")
	add("orders/s", before.OrdersPerSecond, now.OrdersPerSecond, "")
	add("requests/s", before.RequestsPerSecond, now.RequestsPerSecond, "")
	return all
}

// save reads the earlier reports, removes the oldest of them, and writes the pages.
func (r *report) save(folder string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "report.json"), text, 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	all := filepath.Dir(folder)
	if r.Before, err = earlier(all, r.Name, kept-1); err != nil {
		return err
	}
	return errors.Join(
		r.writePage(filepath.Join(folder, "index.html"), "", false),
		r.writePage(filepath.Join(all, "index.html"), r.Name+"/", true))
}

// ofARun is the name of a folder of a run. The program removes nothing else.
var ofARun = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$`)

// earlier returns at most keep reports before the newest, the latest first, and removes the older ones. A folder
// without a report belongs to a run that ended early or is still going on.
func earlier(all, newest string, keep int) ([]report, error) {
	entries, err := os.ReadDir(all)
	if err != nil {
		return nil, fmt.Errorf("look for earlier reports: %w", err)
	}
	slices.Reverse(entries) // they come in the order of their names, which are times
	var before []report
	for _, e := range entries {
		if !e.IsDir() || !ofARun.MatchString(e.Name()) || e.Name() >= newest {
			continue
		}
		folder := filepath.Join(all, e.Name())
		if len(before) == keep {
			if err := os.RemoveAll(folder); err != nil {
				return nil, fmt.Errorf("remove an old report: %w", err)
			}
			continue
		}
		var r report
		text, err := os.ReadFile(filepath.Join(folder, "report.json"))
		if err == nil && json.Unmarshal(text, &r) == nil {
			before = append(before, r)
		}
	}
	return before, nil
}

// writePage writes the page whose links lead to files in the folder at.
func (r *report) writePage(path, at string, hasEarlier bool) error {
	var text bytes.Buffer
	if err := page.Execute(&text, struct {
		*report

		Folder     string
		HasEarlier bool
	}{r, at, hasEarlier}); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// number returns n with its thousands apart.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// decimal returns a figure with one digit after the point if it is small.
func decimal(x float64) string {
	if math.Abs(x) < 10 && x != math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return number(int(math.Round(x)))
}

// missing stands for a figure that was not measured.
const missing = "–"

func optional(n *int) string {
	if n == nil {
		return missing
	}
	return number(*n)
}

func millis(x *float64) string { return with(x, 1, " ms") }

func rate(x *float64) string { return with(x, 1, "/s") }

// seconds returns a duration with two digits after the point if it is short.
func seconds(x *float64) string {
	if x != nil && *x < 1000 {
		return strconv.FormatFloat(*x/1000, 'f', 2, 64) + " s"
	}
	return with(x, 1000, " s")
}

func with(x *float64, by float64, unit string) string {
	if x == nil {
		return missing
	}
	return decimal(*x/by) + unit
}
