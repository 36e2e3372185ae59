package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// legend explains the two kinds of percentiles.
const legend = "wait: the buyer's whole wait, from the tap to its outcome, with DNS, connecting, TLS and the polls of a 202; " +
	"taps that failed or timed out count. server: the server's part of it, one request and its answer."

// report is one run of one or more scenarios.
type report struct {
	Name      string     `json:"name"` // its folder, which is its time
	At        string     `json:"at"`
	On        string     `json:"on"`
	Revision  string     `json:"revision"`
	Settings  string     `json:"settings"`
	Scenarios []scenario `json:"scenarios"`
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
		return "failed: " + strings.Join(failed, ", ")
	}
	return fmt.Sprintf("%d of %d passed", len(r.Scenarios), len(r.Scenarios))
}

// Names returns the scenarios.
func (r report) Names() string {
	names := make([]string, len(r.Scenarios))
	for i, s := range r.Scenarios {
		names[i] = s.Name
	}
	return strings.Join(names, " ")
}

// save writes the pages, and removes the oldest of more reports than are kept.
func (r report) save(folder string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "report.json"), text, 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	all := filepath.Dir(folder)
	before, err := earlier(all, r.Name, kept-1)
	if err != nil {
		return err
	}
	return errors.Join(
		r.writePage(filepath.Join(folder, "index.html"), "", nil),
		r.writePage(filepath.Join(all, "index.html"), r.Name+"/", before))
}

// ofARun is the name of a folder of a run. The program removes nothing else.
var ofARun = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$`)

// earlier returns the reports before the newest, the latest first and keep at most, and removes the older
// ones. A folder without a report belongs to a run that ended early or is still going on.
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
func (r report) writePage(path, at string, before []report) error {
	var text bytes.Buffer
	if err := page.Execute(&text, struct {
		report
		Folder, Legend string
		Before         []report
	}{r, at, legend, before}); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// String returns the percentiles as columns of the table.
func (t times) String() string { return fmt.Sprintf("%.0f ms\t%.0f ms\t%.0f ms", t.P50, t.P95, t.P99) }

func (r report) writeText(w io.Writer) error {
	if r.Settings != "" {
		_, _ = fmt.Fprintln(w, "settings:", r.Settings)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "scenario\tverdict\taccepted\tfailed\tdropped\twait p50\tp95\tp99\tserver p50\tp95\tp99\taudit\trefused")
	for _, s := range r.Scenarios {
		verdict := "passed"
		if !s.Passed() {
			verdict = "failed"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n",
			s.Name, verdict, s.Accepted, s.Failed, s.Dropped, s.Wait, s.Server, s.Audit, s.Refusals())
	}
	for _, s := range r.Scenarios {
		for _, f := range s.Failures {
			_, _ = fmt.Fprintf(table, "%s failed: %s\n", s.Name, f)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	_, _ = fmt.Fprintln(w, legend)
	return nil
}
