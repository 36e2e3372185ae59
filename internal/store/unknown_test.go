package store

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/faultnet"
)

// The driver's error is the same whether the order is there or not. Void tells.
func TestCommit_Fails_IsUnknownUntilDecided(t *testing.T) {
	for name, tc := range map[string]struct {
		fault   func(p *faultnet.Proxy)
		decided error // by Void
		live    int64
	}{
		"the server never heard of it":   {func(p *faultnet.Proxy) { p.Inject(faultnet.NoRequests) }, nil, 0},
		"the server did it":              {func(p *faultnet.Proxy) { p.Inject(faultnet.NoReplies) }, order.ErrDuplicate, 1},
		"the connection broke before it": {(*faultnet.Proxy).Cut, nil, 0},
	} {
		behindProxies(t, name, func(t *testing.T, s, direct *subject, p *faultnet.Proxy) {
			c := onSale(t, s, 5)
			o := wish(c, 1, 1)
			runs := 0
			err := placeAnd(t.Context(), s, c, o, func(context.Context) error {
				runs++
				tc.fault(p) // the next thing on the way is the commit
				return nil
			})
			require.ErrorIs(t, err, order.ErrCommitUnknown)
			require.Equal(t, 1, runs, "an unknown commit is never run again")

			require.NoError(t, p.Mend())
			require.Equal(t, tc.decided == nil, direct.Void(t.Context(), o) == nil)
			require.ErrorIs(t, direct.Void(t.Context(), o), order.ErrDuplicate, "it is decided for good")
			stock, live := left(t, direct, c)
			require.Equal(t, []int64{5 - tc.live, tc.live}, []int64{stock, live})

			o.ID++
			err = place(t.Context(), s, c, o)
			require.ErrorIs(t, err, order.ErrDuplicate, "the request can make no other order")
			require.NoError(t, place(t.Context(), s, c, wish(c, 9, 9)), "and the store works on")
		})
	}
}

// A server that stalls its commits, as for a backup, answers too late. The commit
// may still happen after the client has gone.
func TestCommit_Stalls_IsUnknownThenDecided(t *testing.T) {
	behindProxies(t, "stalled", stalledCommit)
}

func stalledCommit(t *testing.T, s, direct *subject, _ *faultnet.Proxy) {
	c := onSale(t, s, 5)
	o := wish(c, 1, 1)
	backup, err := direct.pools[0].Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, backup.Close()) }()
	do := func(statement string) {
		_, err := backup.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	err = placeAnd(t.Context(), s, c, o, func(context.Context) error {
		do("BACKUP STAGE START")
		do("BACKUP STAGE BLOCK_COMMIT")
		return nil
	})
	require.ErrorIs(t, err, order.ErrCommitUnknown)
	require.ErrorIs(t, s.Void(t.Context(), o), order.ErrUnavailable, "nothing can be decided while the server stalls")
	do("BACKUP STAGE END")

	// Either the stalled commit comes first or the abandoned void does.
	require.ErrorIs(t, decided(t, direct, o), order.ErrDuplicate)
	kept, err := direct.ByRequest(t.Context(), o.RequestID, o.UserID)
	require.NoError(t, err)
	stock, live := left(t, direct, c)
	if kept.Status == order.Void {
		require.Equal(t, []int64{5, 0}, []int64{stock, live})
	} else {
		require.Equal(t, []int64{4, 1}, []int64{stock, live})
	}
}

// decided voids until the database has the last word, which is a duplicate.
func decided(t *testing.T, s *subject, o order.Order) (err error) {
	t.Helper()
	require.Eventually(t, func() bool {
		err = s.Void(t.Context(), o)
		return err != nil
	}, patient, pollEvery)
	return err
}
