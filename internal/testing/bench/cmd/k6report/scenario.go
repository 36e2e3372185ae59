package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// figures are the content of NAME.json, which loadtest/summary.js writes. A figure that was not measured is nil.
type figures struct {
	Name     string    `json:"scenario"`
	Question string    `json:"question"`
	OK       bool      `json:"passed"`
	Date     time.Time `json:"date"`
	URL      string    `json:"url"`

	Peak           float64 `json:"peak"` // requests per second
	DurationFactor float64 `json:"duration_factor"`
	LatencyFactor  float64 `json:"latency_factor"`
	Users          int     `json:"users"`
	SoakDuration   string  `json:"soak_duration"` // of soak, or ""
	DurationMillis float64 `json:"duration_ms"`

	Requests          int            `json:"requests"`
	RequestsPerSecond *float64       `json:"requests_per_second"`
	Orders            int            `json:"orders"` // each order once
	OrdersP50         *float64       `json:"orders_p50_ms"`
	OrdersP99         *float64       `json:"orders_p99_ms"`
	OrdersPerSecond   *float64       `json:"orders_per_second"` // while there was stock
	Repeats           int            `json:"repeats"`
	Refused           int            `json:"refused"`
	RefusedBy         map[string]int `json:"refused_by"`
	RefusedP50        *float64       `json:"refused_p50_ms"`
	RefusedP99        *float64       `json:"refused_p99_ms"`
	NoAnswer          int            `json:"no_answer"`
	NoAnswerBy        map[string]int `json:"no_answer_by"`
	NotSent           int            `json:"not_sent"`
	NotSentReason     string         `json:"not_sent_reason"`
	ServerP50         *float64       `json:"server_p50_ms"`
	ServerP99         *float64       `json:"server_p99_ms"`

	Units     int      `json:"units"`
	Sold      *int     `json:"sold"`
	Paid      int      `json:"paid"`
	Cancelled int      `json:"cancelled"`
	SoldAgain int      `json:"sold_again"`
	SoldOut   *float64 `json:"sold_out_after_ms"`

	Audit     string `json:"audit"`
	Oversold  *int   `json:"oversold"`
	SoldTwice *int   `json:"sold_twice"`
	Lost      *int   `json:"lost"`

	Thresholds   []threshold `json:"thresholds"`
	FailedChecks []check     `json:"failed_checks"`
}

// threshold is a bound of a scenario, in words, with the figure that was found.
type threshold struct {
	Name    string `json:"name"` // as k6 has it
	What    string `json:"what"`
	Found   string `json:"found"`
	Allowed string `json:"allowed"`
	OK      bool   `json:"ok"`
}

// check is a check of a script that failed.
type check struct {
	Name   string `json:"name"`
	Failed int    `json:"failed"`
	Of     int    `json:"of"`
}

// scenario is a scenario of the report: its figures, or the problem that left none.
type scenario struct {
	figures

	Problem string `json:"problem,omitempty"`
	Charts  bool   `json:"charts"` // k6 draws no charts of a few seconds
}

// Passed reports whether the scenario passed.
func (s scenario) Passed() bool { return s.OK && s.Problem == "" }

// Failures returns the bounds that were missed, as k6 names them, and the problem.
func (s scenario) Failures() (all []string) {
	for _, t := range s.Thresholds {
		if !t.OK {
			all = append(all, t.Name)
		}
	}
	if s.Problem != "" {
		all = append(all, s.Problem)
	}
	return all
}

// quiet matches the bound of a refusal code, or of a kind of no answer.
var quiet = regexp.MustCompile(`^(refused\{code|no_answer\{answer):`)

// Shown returns the thresholds of the page. One row stands for the refusal codes that did not come.
func (s scenario) Shown() (all []threshold) {
	others := 0
	for _, t := range s.Thresholds {
		isQuiet := t.OK && t.Allowed == "0" && quiet.MatchString(t.Name)
		if !isQuiet {
			all = append(all, t)
		} else if strings.HasPrefix(t.Name, "refused") {
			others++
		}
	}
	if others > 0 {
		all = append(all, threshold{What: "refused with any other code", Found: "0", Allowed: "0", OK: true})
	}
	return all
}

// counts returns numbers in words, the largest first.
func counts(by map[string]int) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = number(by[name]) + " " + name
	}
	return strings.Join(names, ", ")
}

// readScenario reads the figures of a scenario for which k6 ended with the exit code. Without figures the scenario
// has a problem, and the report has the other scenarios.
func readScenario(folder, name string, code int) scenario {
	var s scenario
	text, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err == nil {
		err = json.Unmarshal(text, &s.figures)
	}
	s.Name = name
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Problem = fmt.Sprintf("k6 ended with exit code %d and left no figures; %s.log has its output", code, name)
	case err != nil:
		s.figures = figures{Name: name}
		s.Problem = fmt.Sprintf("the figures cannot be read: %v", err)
	case s.OK && code != 0:
		s.Problem = fmt.Sprintf("k6 ended with exit code %d; %s.log has its output", code, name)
	}
	_, err = os.Stat(filepath.Join(folder, name+".html"))
	s.Charts = err == nil
	return s
}
