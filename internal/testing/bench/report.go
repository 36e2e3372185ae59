package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Report is the result of a run. Every figure is a median of its rounds.
type Report struct {
	Environment []string `json:"stamp"`
	Rounds      int      `json:"rounds"`
	Quick       bool     `json:"quick,omitempty"` // too short to be a measurement
	Paths       []Row    `json:"paths,omitempty"`
	Absent      []string `json:"absent,omitempty"`   // paths whose settings this build refuses
	Designs     []Row    `json:"designs,omitempty"`  // At: connections
	Ordering    string   `json:"ordering,omitempty"` // the path that the rest is measured on
	Fleets      []Row    `json:"fleets,omitempty"`   // At: instances
	Coupons     []Row    `json:"coupons,omitempty"`  // At: coupons on sale at once
	Buyers      []Row    `json:"buyers,omitempty"`   // At: users who bought before
	Load        []Row    `json:"load,omitempty"`     // At: arrivals per second
	Overload    []Row    `json:"overload,omitempty"` // At: the same

	// The bare route under the same conditions: what the machine, the generator and net/http leave possible.
	BareFleets   []Row `json:"bare_fleets,omitempty"`
	BareLoad     []Row `json:"bare_load,omitempty"`
	BareOverload []Row `json:"bare_overload,omitempty"`

	Audits     int      `json:"audits"`     // measurements that were audited
	Violations []string `json:"violations"` // what the audits found

	// Peak and BarePeak hold the figures of the path Ordering and of the bare route, on which their loads are based.
	Peak     figures `json:"-"`
	BarePeak figures `json:"-"`
}

// Row is one line of a table.
type Row struct {
	Name string  `json:"name"`
	Note string  `json:"note,omitempty"`
	At   float64 `json:"at,omitempty"` // what is varied: see Report

	figures figures
}

// MarshalJSON returns the figures by their names.
func (r Row) MarshalJSON() ([]byte, error) {
	type plain Row // without this method
	return json.Marshal(struct {
		plain
		Figures map[string]float64 `json:"figures"`
	}{plain(r), r.figures.named()})
}

// WriteJSON writes the whole report as one object.
func (r *Report) WriteJSON(w io.Writer) error {
	if r.Violations == nil {
		r.Violations = []string{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// ErrNoSpeed means that an audit was not clean: what was measured is no speed.
var ErrNoSpeed = errors.New("an audit is not clean, so these are no speeds")

// Verdict returns nil if every audit was clean, and ErrNoSpeed otherwise.
func (r *Report) Verdict() error {
	if len(r.Violations) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNoSpeed, strings.Join(r.Violations, "; "))
}

// called returns the figures of a path, and reports whether it was measured.
func (r *Report) called(name string) (figures, bool) {
	for _, row := range r.Paths {
		if row.Name == name {
			return row.figures, true
		}
	}
	return figures{}, false
}
