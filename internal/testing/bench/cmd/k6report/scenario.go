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
	"slices"
	"strings"
)

// scenario is a row of the report.
type scenario struct {
	Name     string   `json:"name"`
	Failures []string `json:"failures,omitempty"` // the bounds that were not kept, by name
	Asked    int      `json:"asked"`
	Accepted int      `json:"accepted"`
	Refused  []count  `json:"refused,omitempty"` // by code, the most frequent first
	Failed   int      `json:"failed"`
	Dropped  int      `json:"dropped"` // taps that k6 did not get to send
	Wait     times    `json:"wait"`    // from a tap to its outcome: connection, answer and polls
	Server   times    `json:"server"`  // the part of it that is one answer of the server
	Audit    string   `json:"audit"`
	Charts   bool     `json:"charts"` // k6 draws none of a few seconds
}

// times are percentiles in milliseconds.
type times struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

type count struct {
	Code string `json:"code"`
	N    int    `json:"n"`
}

func (s scenario) Passed() bool { return len(s.Failures) == 0 }

// Refusals returns the refusals in words.
func (s scenario) Refusals() string {
	words := make([]string, len(s.Refused))
	for i, c := range s.Refused {
		words[i] = fmt.Sprintf("%d %s", c.N, c.Code)
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// values is a metric in the file that k6's --summary-export writes: its figures by name, and
// its thresholds, true if they were not kept.
type values struct {
	Count      float64         `json:"count"`
	Value      *float64        `json:"value"`
	Med        float64         `json:"med"`
	P95        float64         `json:"p(95)"` //nolint:tagliatelle // k6 calls it so
	P99        float64         `json:"p(99)"` //nolint:tagliatelle // as above
	Thresholds map[string]bool `json:"thresholds"`
}

func (v values) times() times { return times{P50: v.Med, P95: v.P95, P99: v.P99} }

// readScenario reads what k6 left of a scenario that ended with the exit code. What is not there
// is a failure of the scenario, and the others are told nevertheless.
func readScenario(folder, name string, code int) scenario {
	s := scenario{Name: name, Audit: "none"}
	var summary struct {
		Metrics map[string]values `json:"metrics"`
	}
	text, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err == nil {
		err = json.Unmarshal(text, &summary)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Failures = append(s.Failures, fmt.Sprintf("k6 ended with exit code %d and no summary", code))
		return s
	case err != nil:
		s.Failures = append(s.Failures, fmt.Sprintf("its summary cannot be read: %v", err))
		return s
	}
	s.fill(summary.Metrics)
	_, err = os.Stat(filepath.Join(folder, name+".html"))
	s.Charts = err == nil
	if s.Passed() && code != 0 {
		s.Failures = append(s.Failures, fmt.Sprintf("k6 ended with exit code %d", code))
	}
	return s
}

func (s *scenario) fill(metrics map[string]values) {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		m := metrics[name]
		for _, bound := range slices.Sorted(maps.Keys(m.Thresholds)) {
			if m.Thresholds[bound] {
				s.Failures = append(s.Failures, name+" "+bound)
			}
		}
		if code, is := strings.CutPrefix(name, "orders_refused{code:"); is && m.Count > 0 {
			s.Refused = append(s.Refused, count{Code: strings.TrimSuffix(code, "}"), N: int(m.Count)})
		}
	}
	slices.SortStableFunc(s.Refused, func(a, b count) int { return cmp.Compare(b.N, a.N) })
	s.Asked, s.Accepted = int(metrics["orders_asked"].Count), int(metrics["orders_accepted"].Count)
	s.Failed, s.Dropped = int(metrics["orders_failed"].Count), int(metrics["dropped_iterations"].Count)
	s.Wait = metrics["buyer_wait{name:buy}"].times()
	s.Server = metrics["http_req_duration{name:buy}"].times()
	if told := s.Accepted + int(metrics["orders_refused"].Count) + s.Failed; told != s.Asked {
		s.Failures = append(s.Failures, fmt.Sprintf("%d taps and %d outcomes", s.Asked, told))
	}
	s.Audit = auditOf(metrics)
}

// auditOf returns the audit in words.
func auditOf(metrics map[string]values) string {
	figure := func(name string) int {
		if v := metrics["audit_"+name].Value; v != nil {
			return int(*v)
		}
		return 0
	}
	if metrics["audit_clean"].Value == nil {
		return "none"
	}
	verdict := "clean"
	switch {
	case figure("clean") == 0:
		verdict = "not clean"
	case figure("settled") == 0:
		verdict = "not settled"
	}
	words := []string{verdict, fmt.Sprintf("%d of %d sold", figure("live"), figure("total"))}
	if n := figure("oversold"); n != 0 {
		words = append(words, fmt.Sprintf("%d oversold", n))
	}
	if n := figure("duplicates"); n != 0 {
		words = append(words, fmt.Sprintf("%d above the limit", n))
	}
	return strings.Join(words, ", ")
}
