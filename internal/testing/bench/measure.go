package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// taken is the result of a measurement: its figures, and the violations that its audits found.
type taken struct {
	figures    figures
	violations []string
}

// measure runs one round of a path. It writes the CPU profile of the round to the file profile, unless profile
// is "".
func (h *env) measure(ctx context.Context, p path, taps int, profile string) (t taken, err error) {
	s, err := h.open(ctx, p)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.warm(ctx, &t, taps); err != nil {
		return t, err
	}
	c, err := s.prepare(ctx, &t, p, taps)
	if err != nil {
		return t, err
	}
	if err := s.warmHeap(ctx, &t, c); err != nil {
		return t, err
	}
	if s.admin != "" {
		c.profile = profile
	}
	if p.inTurn() {
		err = h.takeInTurn(ctx, &t, s, c)
	} else {
		err = s.take(ctx, &t, c)
	}
	if err != nil {
		return t, err
	}
	if t.figures[rate] == 0 {
		return t, errNothing
	}
	return t, nil
}

// turns is the number of parts of an interleaved measurement.
const turns = 5

// takeInTurn runs a workload in parts, interleaved with runs of the baseline route: each part is between two of
// them. It keeps the medians of the parts. The expected differences are about a tenth, and of two runs of a few
// seconds one may cost a third more than the other.
func (h *env) takeInTurn(ctx context.Context, t *taken, s *deployment, c workload) (err error) {
	if c.profile != "" { // one run of all taps, for the profile only; its figures are dropped
		if err := s.take(ctx, t, c); err != nil {
			return fmt.Errorf("take a profile: %w", err)
		}
	}
	b, err := h.open(ctx, pathCalled(bare))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	c.taps, c.profile = c.taps/turns, ""
	of := workload{coupons: []string{"1"}, taps: c.taps, lanes: conns, counts: pathCalled(bare).counts()}
	var like taken // the baseline route
	if err := b.take(ctx, &like, of); err != nil {
		return fmt.Errorf("warm the bare route: %w", err)
	}
	if err := b.take(ctx, &like, of); err != nil {
		return err
	}
	var all []figures
	for range turns {
		before := like.figures
		if c.users == 0 {
			c.first = anywhere()
		}
		if err := s.take(ctx, t, c); err != nil {
			return err
		}
		if err := b.take(ctx, &like, of); err != nil {
			return err
		}
		t.figures.compare(before, like.figures)
		all = append(all, t.figures)
	}
	t.figures = medians(all)
	for _, count := range []metric{asked, accepted, refused, failed, committed} {
		t.figures[count] = 0
		for _, part := range all {
			t.figures[count] += part[count]
		}
	}
	return nil
}

// take runs a workload. Its figures replace the earlier figures; violations accumulate.
func (s *deployment) take(ctx context.Context, t *taken, c workload) error {
	f, violations, err := s.run(ctx, c)
	t.figures, t.violations = f, append(t.violations, violations...)
	return err
}

// warm fills pools, caches and the branch predictors with a separate sale.
func (s *deployment) warm(ctx context.Context, t *taken, taps int) error {
	if err := s.takeNew(ctx, t, workload{taps: min(2000, max(256, taps/20)), lanes: conns}); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return nil
}

// takeNew puts a coupon on sale, with one unit for each tap, and runs a workload of new users on the coupon.
func (s *deployment) takeNew(ctx context.Context, t *taken, c workload) error {
	id, err := s.sell(ctx, c.taps, time.Now().Add(-time.Second))
	if err != nil {
		return err
	}
	c.coupons, c.first = []string{id}, anywhere()
	return s.take(ctx, t, c)
}

// warmHeap runs half of the workload first, on a path whose answers cost little. The heap has then touched all
// the pages that it will use. A process touches each page for the first time only once, and these first touches
// are a tenth of the cost of the first rejections.
func (s *deployment) warmHeap(ctx context.Context, t *taken, c workload) error {
	if c.counts == "" {
		return nil
	}
	c.taps /= 2
	if c.users == 0 {
		c.first = anywhere()
	}
	if err := s.take(ctx, t, c); err != nil {
		return fmt.Errorf("warm the heap: %w", err)
	}
	return nil
}

// prepare brings the sale to the state in which the path begins and returns the workload to measure.
func (s *deployment) prepare(ctx context.Context, t *taken, p path, taps int) (c workload, err error) {
	c = workload{taps: taps, lanes: conns, first: anywhere(), counts: p.counts(), keys: p.keys, looks: p.sale == looking}
	stock, begins, before := taps, time.Now().Add(-time.Second), 0
	switch p.sale {
	case soldOut:
		// Use several buyers per lane: Redis still rejects the first buyers.
		stock, before = 1, 4*conns
	case bought:
		c.users = max(conns, min(5000, taps/4))
		before, stock = c.users, 2*c.users
	case notOpen:
		begins = time.Now().Add(time.Hour)
	case enough, bareRoute, looking:
	}
	id, err := s.sell(ctx, stock, begins)
	if err != nil {
		return c, err
	}
	c.coupons = []string{id}
	if before == 0 {
		return c, nil
	}
	if err := s.take(ctx, t, workload{coupons: c.coupons, taps: before, lanes: conns, first: c.first}); err != nil {
		return c, fmt.Errorf("come before: %w", err)
	}
	return c, nil
}
