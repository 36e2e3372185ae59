package audit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
)

// besides is what a design keeps apart from the coupon's row. Each look takes the next value of units.
type besides struct {
	units   []int64
	waiting int64
	err     error
}

func (b *besides) Units(context.Context, int64) (int64, error) {
	n := b.units[0]
	if len(b.units) > 1 {
		b.units = b.units[1:]
	}
	return n, b.err
}

func (b *besides) Waiting(context.Context, int64) (int64, error) { return b.waiting, nil }

func TestApart_UnitsOutsideTheRow_AreCountedAndShardsAreNotRead(t *testing.T) {
	s := open(t)
	c := s.sell(t, 10)
	s.buy(t, c, 1)
	s.exec(t, "UPDATE coupons SET stock = 4 WHERE id = ?", c.ID) // five units are elsewhere
	s.exec(t, "DELETE FROM fences")                              // a design writes none
	report := func(b *besides) audit.Report {
		r, err := s.Auditor.Apart(b).Audit(t.Context(), c.ID)
		require.NoError(t, err)
		return r
	}

	r := report(&besides{units: []int64{5}})
	require.True(t, r.Clean && r.Settled && r.Loaded, "%+v", r)
	require.Equal(t, []int64{9, 1}, []int64{r.Stock, r.Live})
	require.Equal(t, []string{"I4", "I5", "I6", "I7", "I11"}, with(r, audit.NotRun))

	r = report(&besides{units: []int64{4}})
	require.False(t, r.Clean)
	require.Equal(t, []string{"I1"}, with(r, audit.Violated))

	r = report(&besides{units: []int64{5}, waiting: 2})
	require.True(t, r.Clean)
	require.False(t, r.Settled, "two requests have no row yet")
	require.Equal(t, int64(2), r.Holds)

	moving := make([]int64, 200)
	for i := range moving {
		moving[i] = int64(200 - i)
	}
	r = report(&besides{units: moving})
	require.True(t, r.Clean, "units are taken while it looks")
	require.Equal(t, []string{"I1"}, with(r, audit.Unsettled))

	_, err := s.Auditor.Apart(&besides{units: []int64{5}, err: errors.New("no answer")}).Audit(t.Context(), c.ID)
	require.ErrorContains(t, err, "no answer")
}
