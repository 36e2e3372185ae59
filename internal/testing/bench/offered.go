package bench

import (
	"context"
	"fmt"
)

// loads are the offered arrivals, as shares of the peak rate.
var loads = []float64{0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.2, 1.5}

const (
	judged  = 0.8 // of the peak, where the latency is judged
	tenfold = 10  // of the peak, in the overload
	// openLanes is how many buyers may wait for an answer at once in an open loop. It is large enough that the
	// generator does not hold back arrivals below the peak.
	openLanes = 512
	// crush is openLanes for the overload. It is many times the number of orders that can be made at once, so
	// that waiting and rejecting decide how much throughput is left for orders.
	crush = 40 * peakConns
)

// offered measures throughput and latency against arrivals that do not wait for answers. It also measures the
// throughput that is left when the arrivals are ten times the peak. Latency counts from the time when a buyer
// was due, so a queue in front of the program is part of the latency. At the shares that have a target, the
// baseline route gets the same share of its own peak.
func (b *bench) offered(ctx context.Context) error {
	load, overload := b.wanted("offered load"), b.wanted("overload")
	if !load && !overload {
		return nil
	}
	p, err := b.ordering(ctx)
	if err != nil {
		return err
	}
	r, reference := b.report, pathCalled(bare)
	r.Ordering = p.name
	if r.Peak, err = b.peak(ctx, p); err != nil {
		return err
	}
	if r.BarePeak, err = b.peak(ctx, reference); err != nil {
		return err
	}
	if load {
		if r.Load, err = b.ofPeak(ctx, p, r.Peak, openLanes, b.seconds, loads...); err != nil {
			return err
		}
		if r.BareLoad, err = b.ofPeak(ctx, reference, r.BarePeak, openLanes, b.seconds, judged); err != nil {
			return err
		}
	}
	if overload {
		if r.Overload, err = b.ofPeak(ctx, p, r.Peak, crush, b.overload, tenfold); err != nil {
			return err
		}
		r.BareOverload, err = b.ofPeak(ctx, reference, r.BarePeak, crush, b.overload, tenfold)
	}
	return err
}

// peak returns the median of the path. If the report does not have it, peak measures the path.
func (b *bench) peak(ctx context.Context, p path) (figures, error) {
	if f, known := b.report.called(p.name); known {
		return f, nil
	}
	all, err := b.inRounds(ctx, []string{"peak of " + p.name}, func(int) (taken, error) { return b.env.measure(ctx, p, b.tapsOf(p), "") })
	if err != nil {
		return figures{}, err
	}
	return all[0], nil
}

// ofPeak offers the given shares of its peak to a path, each share for the given number of seconds.
func (b *bench) ofPeak(ctx context.Context, p path, peak figures, lanes int, seconds float64, shares ...float64) (rows []Row, err error) {
	for _, share := range shares {
		row, err := b.arrivals(ctx, p, share*peak[rate], seconds, lanes)
		if err != nil {
			return nil, err
		}
		row.Name = fmt.Sprintf("%s/s, %.0f %% of the peak", grouped(int64(row.At)), share*100)
		if p.sale == bareRoute {
			row.Name = bare + ": " + row.Name
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// arrivals offers perSecond buyers per second for the given number of seconds.
func (b *bench) arrivals(ctx context.Context, p path, perSecond, seconds float64, lanes int) (Row, error) {
	taps := max(1, int(perSecond*seconds))
	all, err := b.inRounds(ctx, []string{fmt.Sprintf("%s, %.0f/s offered", p.name, perSecond)}, func(int) (taken, error) {
		return b.inShop(ctx, p, b.env.alone(), taps, func(s *deployment, t *taken) error {
			return s.takeNew(ctx, t, workload{taps: taps, lanes: lanes, rate: perSecond, counts: p.counts()})
		})
	})
	if err != nil {
		return Row{}, err
	}
	return Row{At: perSecond, figures: all[0]}, nil
}
