package audit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Status is the verdict on one invariant.
type Status string

// The verdicts.
const (
	OK        Status = "ok"
	Violated  Status = "violated"
	Unsettled Status = "unsettled" // the stores changed while they were read
	NotRun    Status = "not_run"   // there is nothing to compare: the stock is not loaded
)

// Invariant is one line of the report.
type Invariant struct {
	ID      string  `json:"id"`
	Text    string  `json:"text"`
	Status  Status  `json:"status"`
	Detail  string  `json:"detail"`  // the numbers, in words
	Numbers []int64 `json:"numbers"` // those of Detail, in their order
}

// Report is what an audit found. Its JSON is part of the HTTP contract.
type Report struct {
	CouponID   ID          `json:"coupon_id"`
	Clean      bool        `json:"clean"`   // no invariant is violated
	Settled    bool        `json:"settled"` // the stores were quiet, with no hold and no return open
	Total      int64       `json:"total"`   // T, units put on sale
	Stock      int64       `json:"stock"`   // D, the database's stock
	Live       int64       `json:"live"`    // A, live orders
	Orders     int64       `json:"orders"`  // orders ever committed
	Voids      int64       `json:"voids"`   // requests given up
	Holds      int64       `json:"holds"`   // h, units held for requests that are not orders
	Returns    int64       `json:"returns"` // G, units owed to the shards
	Redis      int64       `json:"redis"`   // R, the sum of the shards
	Oversold   int64       `json:"oversold"`
	Duplicates int64       `json:"duplicates"`
	Miscounted int64       `json:"miscounted"` // users of whose orders Redis has another number
	Shards     []int64     `json:"shards"`
	Invariants []Invariant `json:"invariants"`
	Violations []string    `json:"violations"`
	Loaded     bool        `json:"loaded"`  // every shard is open for the sale as it is now
	Loading    bool        `json:"loading"` // no buyer is admitted until the shards are loaded
	TakenAt    time.Time   `json:"taken_at"`
}

// ID is a 64-bit id, a string in JSON.
type ID int64

// MarshalJSON writes the id as a string.
func (id ID) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatInt(int64(id), 10)) }

// UnmarshalJSON reads it back.
func (id *ID) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("id %s: %w", text, err)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return fmt.Errorf("id %q: %w", s, err)
	}
	*id = ID(n)
	return nil
}

func (r Report) status(id string) Status {
	for _, i := range r.Invariants {
		if i.ID == id {
			return i.Status
		}
	}
	return NotRun
}

func verdict(holds bool) Status {
	if holds {
		return OK
	}
	return Violated
}

func (r *Report) add(id, text string, s Status, detail string, args ...any) {
	i := Invariant{ID: id, Text: text, Status: s, Detail: fmt.Sprintf(detail, args...), Numbers: []int64{}}
	for _, arg := range args {
		switch n := arg.(type) {
		case int64:
			i.Numbers = append(i.Numbers, n)
		case int:
			i.Numbers = append(i.Numbers, int64(n))
		}
	}
	r.Invariants = append(r.Invariants, i)
	if s == Violated {
		r.Violations = append(r.Violations, id+": "+text+": "+i.Detail)
	}
}
