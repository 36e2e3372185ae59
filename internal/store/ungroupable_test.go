package store

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/internal/order"
)

// Who swaps two steps of an order loses the groups, and is told so, once; payments and the
// like, which are never grouped, are not worth a line.
func TestOrdersThatCannotBeGroupedAreToldOnce(t *testing.T) {
	var log bytes.Buffer
	whole := onMariaDB(t)
	s, _ := whole.grouped(GroupOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c := onSale(t, whole, 5)
	require.NoError(t, place(t.Context(), s, c, wish(c, 1, 1)))
	_, err := pay(t.Context(), s, wish(c, 1, 1), begins)
	require.NoError(t, err)
	require.Empty(t, log.String())
	for id := int64(2); id <= 4; id++ {
		require.NoError(t, s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			o := wish(c, id, id)
			if err := tx.Fence(ctx, o.UserID, o.Fence); err != nil {
				return err
			}
			if err := tx.TakeOne(ctx, o.CouponID, c.Epoch); err != nil { // before the order
				return err
			}
			return tx.Insert(ctx, o)
		}))
	}
	require.Equal(t, 1, strings.Count(log.String(), "orders are not committed in groups"), log.String())
}
