package bench

import "fmt"

// Target is a bound on a figure. The project set the bound before it measured the figure.
type Target struct {
	What   string
	Is     float64
	Least  float64 // 0 = no lower bound
	Most   float64 // 0 = no upper bound
	Bare   float64 // figure of the baseline route; 0 = not measured: a ratio to it, or only the program has the figure
	exists bool
}

// Met reports whether the figure is within its bounds.
func (t Target) Met() bool { return t.Is >= t.Least && (t.Most == 0 || t.Is <= t.Most) }

func (t Target) verdict() string {
	if t.Met() {
		return "met"
	}
	return "not met"
}

func (t Target) limit() string {
	if t.Most != 0 {
		return fmt.Sprintf("≤ %.3g", t.Most)
	}
	return fmt.Sprintf("≥ %.3g", t.Least)
}

func (t Target) reference() string {
	if t.Bare == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", t.Bare)
}

// Targets returns the targets that a whole run can judge. It omits each target whose figure the run did not
// measure. It returns nil for a quick run.
func (r *Report) Targets() (all []Target) {
	if r.Quick {
		return nil
	}
	fast, hasFast := r.called(batch)
	_, hasSingle := r.called(single)
	_, hasBare := r.called(bare)
	queued, hasQueue := r.called(queue)
	none, hasNone := r.called(soldOutPath)
	keyed, hasKeyed := r.called(soldOutKeys)
	limit, hasLimit := r.called(limitReached)
	looks, hasLooks := r.called(look)
	bareRate := over(queued[rate], queued[ofBare])
	for _, t := range []Target{
		{"CPU of an order in batches, all processes, in bare requests", fast[costOfBare], 0, 3.3, 0, hasFast && hasBare},
		{"orders/s in batches, of the bare route", fast[ofBare], 0.25, 0, 0, hasFast && hasBare},
		{"the same, of batches of one", fast[ofSingle], 8, 0, 0, hasFast && hasSingle},
		{"queued orders/s (202), of the bare route", over(queued[queuedRate], bareRate), 0.28, 0, 0, hasQueue && hasBare},
		{"rows reaching SQL/s from the queue, of the bare route", queued[ofBare], 0.2, 0, 0, hasQueue && hasBare},
		{"sold_out answers/s, of the bare route", none[ofBare], 0.9, 0, 0, hasNone && hasBare},
		{"the same to taps with a key", keyed[ofBare], 0.6, 0, 0, hasKeyed && hasBare},
		{"limit_reached answers/s, of the bare route", limit[ofBare], 0.9, 0, 0, hasLimit && hasBare},
		{"Redis calls and SQL statements per sold_out", none[redisScripts] + none[statements], 0, 0.01, 0, hasNone},
		{"Redis commands an order in batches", fast[redisCommands], 0, 4, 0, hasFast},
		{"looks/s, of the bare route", looks[ofBare], 0.8, 0, 0, hasLooks && hasBare},
		{"SQL statements per look", looks[statements], 0, 0.01, 0, hasLooks},
		{"memory at the peak, MiB", r.Peak[memory], 0, 150, 0, r.Peak[memory] > 0},
		{"CPU of an order of two instances, of one's", ofOneInstance(r.Fleets, cpuAll), 0, 1.1, ofOneInstance(r.BareFleets, cpuAll), len(r.Fleets) > 0},
		{"orders/s, the slowest number of coupons of the fastest", flatness(r.Coupons), 0.9, 0, 0, len(r.Coupons) > 1},
		{"orders/s, the slowest number of earlier buyers of the fastest", flatness(r.Buyers), 0.9, 0, 0, len(r.Buyers) > 1},
		{"p99 at 80 % of the peak, ms", r.at(judged)[p99], 0, 25, first(r.BareLoad)[p99], len(r.Load) > 0},
		{"goodput at 10 times the peak, of the peak", crushed(r.Overload, r.Peak, rate), 0.9, 0, crushed(r.BareOverload, r.BarePeak, rate), len(r.Overload) > 0},
		{"memory at 10 times the peak, of that at the peak", crushed(r.Overload, r.Peak, memory), 0, 1.2, crushed(r.BareOverload, r.BarePeak, memory), len(r.Overload) > 0},
	} {
		if t.exists {
			all = append(all, t)
		}
	}
	return all
}

// flatness returns the rate of the slowest row divided by the rate of the fastest row.
func flatness(rows []Row) float64 {
	if len(rows) == 0 {
		return 0
	}
	low, high := rows[0].figures[rate], rows[0].figures[rate]
	for _, r := range rows {
		low, high = min(low, r.figures[rate]), max(high, r.figures[rate])
	}
	return over(low, high)
}

// ofOneInstance returns the figure of two instances divided by the figure of one instance. Each figure is from the
// first row with this number of instances; the rows on one master come first. It returns 0 if the run did not
// measure one of the two figures.
func ofOneInstance(fleets []Row, m metric) float64 {
	var is [3]float64
	for _, row := range fleets {
		if n := int(row.At); n < len(is) && is[n] == 0 {
			is[n] = row.figures[m]
		}
	}
	return over(is[2], is[1])
}

// at returns the figures at a share of the peak, or no figures if the run did not measure this share.
func (r *Report) at(share float64) figures {
	for i, row := range r.Load {
		if loads[i] == share {
			return row.figures
		}
	}
	return figures{}
}

// crushed returns a figure under overload divided by the figure at the peak.
func crushed(rows []Row, peak figures, m metric) float64 { return over(first(rows)[m], peak[m]) }

// first returns the figures of the first row, or no figures if there are no rows.
func first(rows []Row) figures {
	if len(rows) == 0 {
		return figures{}
	}
	return rows[0].figures
}
