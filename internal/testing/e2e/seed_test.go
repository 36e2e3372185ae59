package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// The containers run seed at each start, before the instances.
func TestSeed_BeforeEachStart_OneCouponSells(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := run(t, s.env, "seed", "--stock", "3")
	require.Zero(t, p.code(), p.err.String())
	require.Contains(t, p.out.String(), "coupon 1 is on sale: 3 units, until ")
	i := s.instance(t)
	require.Equal(t, http.StatusCreated, i.as(t, 7).buy("1", "first").status)

	p = run(t, s.env, "seed", "--stock", "3")
	require.Zero(t, p.code(), p.err.String())
	require.Equal(t, "nothing to do: the database has coupon 1\n", p.out.String())
	s.auditedTwice(t, i, "1")
}
