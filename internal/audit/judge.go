package audit

import (
	"maps"

	"seckill/internal/coupon"
	"seckill/internal/order"
	"seckill/internal/stock"
)

// count is the evidence in numbers.
type count struct {
	Report
	loaded   bool // every shard is open, with the coupon's epoch
	negative int  // shards below 0
	lost     int  // requests that Redis knows as ordered and the database does not
	other    int  // requests that have different orders in the two
}

// count fills in the report's figures.
func (e evidence) count() count {
	b := e.books
	c := count{loaded: len(e.shards) > 0, Report: Report{
		CouponID: ID(b.Coupon.ID), Total: b.Coupon.Total, Stock: b.Coupon.Left, Live: b.Live, Orders: b.Orders,
		Voids: b.Voids, Shards: []int64{}, Violations: []string{}, TakenAt: e.at,
		Oversold: max(0, b.Live-b.Coupon.Total), Duplicates: b.OverLimit + b.SameID,
	}}
	for _, s := range e.shards {
		c.loaded = c.loaded && s.Open && s.Epoch == b.Coupon.Epoch
		c.Redis += s.Units
		c.Shards = append(c.Shards, s.Units)
		if s.Units < 0 {
			c.negative++
		}
		for _, h := range s.Holds {
			if h.Unit && !e.ordered(h.RequestID, h.OrderID) {
				c.Holds++
			}
		}
	}
	for i, due := range b.Due {
		if due.Epoch == b.Coupon.Epoch && !e.applied[i] {
			c.Returns++
		}
	}
	if e.quiet && c.loaded {
		c.Miscounted = e.miscounted()
	}
	for request, id := range e.history {
		switch o, known := b.Requests[request]; {
		case !known || o.Status == order.Void:
			c.lost++
		case o.ID != id:
			c.other++
		}
	}
	return c
}

// miscounted counts the users of whose live orders Redis has another number than the
// database. An order whose hold is not confirmed is not yet in the account, and one
// whose unit is owed is still in it.
func (e evidence) miscounted() (users int64) {
	account := map[int64]int64{}
	maps.Copy(account, e.buyers)
	for k, s := range e.shards {
		for _, h := range s.Holds {
			if k == stock.Home(h.UserID, len(e.shards)) && e.ordered(h.RequestID, h.OrderID) {
				account[h.UserID]++
			}
		}
	}
	for i, due := range e.books.Due {
		if due.Epoch == e.books.Coupon.Epoch && !e.applied[i] {
			account[due.UserID]--
		}
	}
	for user, n := range e.books.Buyers {
		if account[user] -= n; account[user] != 0 {
			users++
		}
		delete(account, user)
	}
	for _, n := range account {
		if n != 0 {
			users++
		}
	}
	return users
}

// ordered says whether a hold's order is committed: then it is no open hold any
// more, and only its confirmation is missing.
func (e evidence) ordered(request string, id int64) bool {
	o, known := e.books.Requests[request]
	return known && o.ID == id && o.Status != order.Void
}

// judge holds the evidence against every invariant.
func (e evidence) judge() Report {
	c, b := e.count(), e.books
	quiet := func(holds bool) Status {
		if !e.quiet {
			return Unsettled
		}
		return verdict(holds)
	}
	both := func(holds bool) Status {
		switch {
		case !e.quiet || c.loaded:
		case b.Coupon.StateAt(e.at) != coupon.OnSale:
			return NotRun
		case b.Coupon.Loading: // nobody is admitted, and some instance is at it or will be
			return Unsettled
		}
		return quiet(holds && c.loaded)
	}
	note := ""
	if !c.loaded {
		note = ", not loaded"
	}
	if b.Coupon.Loading {
		note += ", loading"
	}
	d, a, t := b.Coupon.Left, b.Live, b.Coupon.Total
	sum := c.Redis + c.Holds + c.Returns + a
	c.add("I1", "D + A = T and D ≥ 0", verdict(d+a == t && d >= 0), "D %d + A %d, T %d", d, a, t)
	c.add("I2", "A ≤ T", verdict(a <= t), "A %d, T %d", a, t)
	c.add("I3", "no user above the limit, and Redis counts each user's orders", verdict(b.OverLimit == 0 && c.Miscounted == 0),
		"%d orders above a limit of %d, %d users miscounted, %d have orders",
		b.OverLimit, b.Coupon.LimitPerUser, c.Miscounted, len(b.Buyers))
	c.add("I4", "R + h + G + A = T", both(sum == t),
		"R %d + h %d + G %d + A %d = %d, T %d%s", c.Redis, c.Holds, c.Returns, a, sum, t, note)
	c.add("I5", "every shard ≥ 0", verdict(c.negative == 0), "%d of %d shards below 0", c.negative, len(e.shards))
	c.add("I6", "no unit out of reach: D − R = h + G", both(d-c.Redis == c.Holds+c.Returns),
		"D %d − R %d, h %d + G %d", d, c.Redis, c.Holds, c.Returns)
	c.add("I7", "every request that Redis knows as ordered has its row", quiet(c.lost == 0),
		"%d of %d without a row", c.lost, len(e.history))
	c.add("I8", "one order a request, the same in both stores", verdict(b.SameID == 0 && (c.other == 0 || !e.quiet)),
		"%d share an id or a request, %d differ", b.SameID, c.other)
	c.add("I9", "states, slots and returns agree; fences grow", verdict(b.BadState == 0 && b.Stale == 0),
		"%d in a bad state, %d above their fence", b.BadState, b.Stale)
	queued, dropped := e.inQueue()
	c.add("I11", "a queued request is acknowledged only after its commit", quiet(dropped == 0),
		"%d queued, %d without an entry", queued, dropped)
	c.Loaded, c.Loading = c.loaded, b.Coupon.Loading
	c.Clean = len(c.Violations) == 0
	c.Settled = e.quiet && c.Holds == 0 && c.Returns == 0
	return c.Report
}
