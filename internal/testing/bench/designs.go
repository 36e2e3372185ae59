package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/seckill/internal/tools/designs"
)

// designsWord names the comparison of the designs. It is measured only on request.
const designsWord = "designs"

// crowd is one way in which buyers come to every design.
type crowd struct {
	lanes, coupons, taps, quick int
}

func (c crowd) String() string {
	return fmt.Sprintf("%d connections, %s", c.lanes, count(c.coupons, "coupon"))
}

// count formats 1 coupon and 16 coupons.
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// crowds are one coupon with more and more connections, and the most of them without contention on one coupon.
var crowds = []crowd{{1, 1, 2000, 60}, {16, 1, 8000, 200}, {128, 1, 12_000, 400}, {128, 16, 12_000, 400}}

// rivals returns what is compared: the bare route, this program, and each right design.
func rivals() []string {
	all := []string{bare, designs.Own}
	for _, d := range designs.All() {
		if !d.Wrong() {
			all = append(all, d.Name)
		}
	}
	return all
}

// rival returns the path of a rival, and the instance that serves it.
func (h *env) rival(name string) (path, cluster) {
	f := h.alone()
	if name == bare {
		return pathCalled(bare), f
	}
	f.design = name
	return path{name: name, sale: enough}, f
}

// designs measures every right design with every crowd. All of them run in every round.
func (b *bench) designs(ctx context.Context) error {
	if !slices.Contains(b.Only, designsWord) {
		return nil
	}
	var names []string
	var measures []func() (taken, error)
	for _, c := range crowds {
		if b.Quick {
			c.taps = c.quick
		}
		for _, name := range rivals() {
			p, f := b.env.rival(name)
			names = append(names, name+", "+c.String())
			measures = append(measures, func() (taken, error) {
				return b.inShop(ctx, p, f, c.taps, func(s *deployment, t *taken) error { return s.takeCrowd(ctx, t, p, c) })
			})
		}
	}
	all, err := b.inRounds(ctx, names, func(i int) (taken, error) { return measures[i]() })
	for i, f := range all {
		b.report.Designs = append(b.report.Designs, Row{Name: names[i], At: float64(crowds[i/len(rivals())].lanes), figures: f})
	}
	return err
}

// takeCrowd lets one crowd come to a sale of its own, with one unit for each buyer.
func (s *deployment) takeCrowd(ctx context.Context, t *taken, p path, c crowd) error {
	w := workload{taps: c.taps, lanes: c.lanes, first: anywhere(), counts: p.counts()}
	for range c.coupons {
		id, err := s.sell(ctx, c.taps/c.coupons, time.Now().Add(-time.Second))
		if err != nil {
			return err
		}
		w.coupons = append(w.coupons, id)
	}
	return s.take(ctx, t, w)
}
