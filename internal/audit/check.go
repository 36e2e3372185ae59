package audit

import (
	"example.com/seckill/internal/coupon"
)

// count is the evidence in numbers.
type count struct {
	Report
	loaded   bool  // every shard is open, with the coupon's epoch
	negative int   // shards below 0
	lost     int64 // requests that Redis knows as ordered and the database does not
}

// count fills in the report's figures.
func (e evidence) count() count {
	t := e.totals
	c := count{loaded: len(e.shards) > 0, lost: max(0, e.ordered-e.found), Report: Report{
		CouponID: ID(e.coupon.ID), Total: e.coupon.Total, Stock: e.coupon.Left, Live: t.Live, Orders: t.Orders,
		Voids: t.Voids, Shards: []int64{}, Violations: []string{}, TakenAt: e.at, Returns: e.owed, Holds: max(0, e.holds-e.sold),
		Oversold: max(0, t.Live-e.coupon.Total), Duplicates: t.OverLimit + t.SameID,
	}}
	buyers := int64(0)
	for _, s := range e.shards {
		c.loaded = c.loaded && s.Open && s.Epoch == e.coupon.Epoch
		c.Redis += s.Units
		c.Shards = append(c.Shards, s.Units)
		if s.Units < 0 {
			c.negative++
		}
		buyers += s.Buyers
	}
	if e.quiet && c.loaded { // users known to Redis alone are miscounted too
		c.Miscounted = e.mismatch + max(0, buyers-e.counted)
	}
	return c
}

// check compares the evidence with every invariant.
func (e evidence) check() Report {
	c, of, totals := e.count(), e.coupon, e.totals
	quiet := func(holds bool) Status { return e.ofShards(e.settled(holds)) }
	both := func(holds bool) Status {
		switch {
		case e.apart:
			return NotRun
		case !e.quiet || c.loaded:
		case of.StateAt(e.at) != coupon.OnSale:
			return NotRun
		case of.Loading: // no buyer is admitted; an instance is loading or will be
			return Unsettled
		}
		return quiet(holds && c.loaded)
	}
	note := ""
	if !c.loaded {
		note = ", not loaded"
	}
	if of.Loading {
		note += ", loading"
	}
	d, a, t := of.Left, totals.Live, of.Total
	sum := c.Redis + c.Holds + c.Returns + a
	c.add("I1", "D + A = T and D ≥ 0", e.ofStock(d+a == t && d >= 0), "D %d + A %d, T %d", d, a, t)
	c.add("I2", "A ≤ T", verdict(a <= t), "A %d, T %d", a, t)
	c.add("I3", "no user above the limit, and Redis counts each user's orders", verdict(totals.OverLimit == 0 && c.Miscounted == 0),
		"%d orders above a limit of %d, %d users miscounted, %d have orders",
		totals.OverLimit, of.LimitPerUser, c.Miscounted, totals.Users)
	c.add("I4", "R + h + G + A = T", both(sum == t),
		"R %d + h %d + G %d + A %d = %d, T %d%s", c.Redis, c.Holds, c.Returns, a, sum, t, note)
	c.add("I5", "every shard ≥ 0", e.ofShards(verdict(c.negative == 0)), "%d of %d shards below 0", c.negative, len(e.shards))
	c.add("I6", "no unit out of reach: D − R = h + G", both(d-c.Redis == c.Holds+c.Returns),
		"D %d − R %d, h %d + G %d", d, c.Redis, c.Holds, c.Returns)
	c.add("I7", "every request that Redis knows as ordered has its row", quiet(c.lost == 0),
		"%d of %d without a row", c.lost, e.ordered)
	c.add("I8", "one order a request, the same in both stores", verdict(totals.SameID == 0 && (e.other == 0 || !e.quiet)),
		"%d share an id or a request, %d differ", totals.SameID, e.other)
	c.add("I9", "states, slots and returns agree; fences grow", verdict(totals.BadState == 0 && totals.Stale == 0),
		"%d in a bad state, %d above their fence", totals.BadState, totals.Stale)
	c.add("I11", "a queued request is acknowledged only after its commit", quiet(e.dropped == 0),
		"%d queued, %d without an entry", max(0, e.queued-e.ended), e.dropped)
	if d := e.draw; d != nil {
		c.add("I12", "a draw is served in the order of its ranks", verdict(d.holds()),
			"%d of %d tickets drawn, %d passed over, %d of %d noted", d.winners, d.tickets, d.passedOver, d.Winners, d.Entrants)
	}
	c.Loaded, c.Loading = c.loaded || e.apart && !of.Loading, of.Loading
	c.Clean = len(c.Violations) == 0
	c.Settled = e.quiet && c.Holds == 0 && c.Returns == 0
	return c.Report
}

// settled returns the verdict, or Unsettled if the stores changed while they were read.
func (e evidence) settled(holds bool) Status {
	if !e.quiet {
		return Unsettled
	}
	return verdict(holds)
}

// ofShards returns the status of an invariant that needs the shards.
func (e evidence) ofShards(s Status) Status {
	if e.apart {
		return NotRun
	}
	return s
}

// ofStock returns the verdict on the stock. Units apart from the coupon's row are not of the snapshot.
func (e evidence) ofStock(holds bool) Status {
	if e.apart {
		return e.settled(holds)
	}
	return verdict(holds)
}
