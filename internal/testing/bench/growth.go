package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// growth measures the same workload against more coupons, and against a coupon that more users have
// bought already. A cost that grows with either is a scan that should be a lookup.
func (b *bench) growth(ctx context.Context) error {
	for _, g := range []growing{
		{"coupons on sale", b.coupons, b.amongCoupons, &b.report.Coupons},
		{"users who bought before", b.buyers, b.afterBuyers, &b.report.Buyers},
	} {
		if !b.wanted(g.name) {
			continue
		}
		p, err := b.ordering(ctx)
		if err != nil {
			return err
		}
		b.report.Ordering = p.name
		if err := b.grow(ctx, p, g); err != nil {
			return err
		}
	}
	return nil
}

// growing is a quantity that grows, and how a workload is measured at one of its sizes.
type growing struct {
	name  string
	sizes []int
	take  func(ctx context.Context, s *deployment, t *taken, size int) error
	into  *[]Row
}

func (b *bench) grow(ctx context.Context, p path, g growing) error {
	names := make([]string, len(g.sizes))
	for i, size := range g.sizes {
		names[i] = fmt.Sprintf("%d %s", size, g.name)
	}
	all, err := b.inRounds(ctx, names, func(i int) (taken, error) {
		return b.inShop(ctx, p, b.env.alone(), b.taps, func(s *deployment, t *taken) error { return g.take(ctx, s, t, g.sizes[i]) })
	})
	if err != nil {
		return err
	}
	for i, size := range g.sizes {
		*g.into = append(*g.into, Row{Name: grouped(int64(size)), At: float64(size), figures: all[i]})
	}
	return nil
}

// inShop opens a deployment, warms it up, runs do, and closes it.
func (b *bench) inShop(ctx context.Context, p path, f cluster, taps int, do func(*deployment, *taken) error) (t taken, err error) {
	s, err := b.env.openFleet(ctx, p, f)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.warm(ctx, &t, taps); err != nil {
		return t, err
	}
	err = do(s, &t)
	return t, err
}

// amongCoupons spreads one workload over n coupons.
func (b *bench) amongCoupons(ctx context.Context, s *deployment, t *taken, n int) error {
	c := workload{taps: b.taps, lanes: conns, first: anywhere()}
	for range n {
		id, err := s.sell(ctx, b.taps/n, time.Now().Add(-time.Second))
		if err != nil {
			return err
		}
		c.coupons = append(c.coupons, id)
	}
	return s.take(ctx, t, c)
}

// afterBuyers lets n users buy and then measures others, of the same coupon.
func (b *bench) afterBuyers(ctx context.Context, s *deployment, t *taken, n int) error {
	id, err := s.sell(ctx, n+b.taps, time.Now().Add(-time.Second))
	if err != nil {
		return err
	}
	c := workload{coupons: []string{id}, taps: n, lanes: conns, first: anywhere()}
	if err := s.take(ctx, t, c); err != nil {
		return fmt.Errorf("come before: %w", err)
	}
	c.first, c.taps = c.first+int64(n), b.taps
	return s.take(ctx, t, c)
}
