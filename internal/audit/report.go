package audit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/coupon"
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
	ID     string `json:"id"`
	Text   string `json:"text"`
	Status Status `json:"status"`
	Detail string `json:"detail"` // the numbers
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
	Shards     []int64     `json:"shards"`
	Invariants []Invariant `json:"invariants"`
	Violations []string    `json:"violations"`
	TakenAt    time.Time   `json:"taken_at"`
}

// ID is a 64-bit id, a string in JSON.
type ID int64

// MarshalJSON writes the id as a string.
func (id ID) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatInt(int64(id), 10)) }

func (r Report) status(id string) Status {
	for _, i := range r.Invariants {
		if i.ID == id {
			return i.Status
		}
	}
	return NotRun
}

// judge holds the evidence against every invariant.
func (e evidence) judge() Report {
	b := e.books
	r := Report{
		CouponID: ID(b.Coupon.ID), Total: b.Coupon.Total, Stock: b.Coupon.Left, Live: b.Live, Orders: b.Orders,
		Voids: b.Voids, Shards: []int64{}, Violations: []string{}, TakenAt: e.at,
		Oversold: max(0, b.Live-b.Coupon.Total), Duplicates: b.OverLimit + b.SameID,
	}
	loaded := len(e.shards) > 0
	negative := 0
	for _, s := range e.shards {
		loaded = loaded && s.Open && s.Epoch == b.Coupon.Epoch
		r.Redis += s.Units
		r.Shards = append(r.Shards, s.Units)
		if s.Units < 0 {
			negative++
		}
		for _, h := range s.Holds {
			// A hold whose order is committed is not open any more: only its
			// confirmation is missing.
			if o, known := b.Requests[h.RequestID]; h.Unit && (!known || o.ID != h.OrderID || o.Status == "void") {
				r.Holds++
			}
		}
	}
	for i, due := range b.Due {
		if due.Epoch == b.Coupon.Epoch && !e.applied[i] {
			r.Returns++
		}
	}
	lost, other := 0, 0
	for request, id := range e.history {
		switch o, known := b.Requests[request]; {
		case !known || o.Status == "void":
			lost++
		case o.ID != id:
			other++
		}
	}

	both := func(holds bool) Status {
		switch {
		case !e.quiet:
			return Unsettled
		case !loaded && b.Coupon.State != coupon.OnSale:
			return NotRun
		}
		return verdict(holds && loaded)
	}
	d, a, t := b.Coupon.Left, b.Live, b.Coupon.Total
	r.add("I1", "D + A = T and D ≥ 0", verdict(d+a == t && d >= 0), "D %d + A %d, T %d", d, a, t)
	r.add("I2", "A ≤ T", verdict(a <= t), "A %d, T %d", a, t)
	r.add("I3", "no user above the limit", verdict(b.OverLimit == 0), "%d orders above a limit of %d", b.OverLimit, b.Coupon.LimitPerUser)
	sum := r.Redis + r.Holds + r.Returns + a
	note := ""
	if !loaded {
		note = ", not loaded"
	}
	r.add("I4", "R + h + G + A = T", both(sum == t), "R %d + h %d + G %d + A %d = %d, T %d%s", r.Redis, r.Holds, r.Returns, a, sum, t, note)
	r.add("I5", "every shard ≥ 0", verdict(negative == 0), "%d of %d shards below 0", negative, len(e.shards))
	r.add("I6", "no unit out of reach: D − R = h + G", both(d-r.Redis == r.Holds+r.Returns), "D %d − R %d, h %d + G %d", d, r.Redis, r.Holds, r.Returns)
	r.add("I7", "every request that Redis knows as ordered has its row", both(lost == 0), "%d of %d without a row", lost, len(e.history))
	r.add("I8", "one order a request, the same in both stores", verdict(b.SameID == 0 && (other == 0 || !e.quiet)), "%d share a request, %d differ", b.SameID, other)
	r.add("I9", "states, slots and returns agree; fences grow", verdict(b.BadState == 0 && b.Stale == 0), "%d in a bad state, %d above their fence", b.BadState, b.Stale)
	r.Clean = len(r.Violations) == 0
	r.Settled = e.quiet && r.Holds == 0 && r.Returns == 0
	return r
}

func verdict(holds bool) Status {
	if holds {
		return OK
	}
	return Violated
}

func (r *Report) add(id, text string, s Status, detail string, args ...any) {
	i := Invariant{ID: id, Text: text, Status: s, Detail: fmt.Sprintf(detail, args...)}
	r.Invariants = append(r.Invariants, i)
	if s == Violated {
		r.Violations = append(r.Violations, id+": "+text+": "+i.Detail)
	}
}
