package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// sold is a coupon with an order of every kind, and another coupon beside it.
func sold(t *testing.T, s *subject) coupon.Coupon {
	t.Helper()
	c, beside := onSale(t, s, 20), onSale(t, s, 20)
	soon := wish(c, 4, 4)
	soon.ExpiresAt = begins.Add(time.Minute)
	require.NoError(t, place(t.Context(), s, c, soon))
	for _, id := range []int64{1, 2, 3, 5, 6} {
		placed(t, s, c, id, id)
	}
	placed(t, s, beside, 50, 1)
	_, err := pay(t.Context(), s, wish(c, 2, 2), begins)
	require.NoError(t, err)
	_, err = cancelOrder(t.Context(), s, wish(c, 3, 3))
	require.NoError(t, err)
	_, err = expire(t.Context(), s, soon, soon.ExpiresAt)
	require.NoError(t, err)
	require.NoError(t, s.Void(t.Context(), wish(c, 7, 7)))
	return c
}

func TestSnapshot_CorrectSale_AddsUp(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := sold(t, s)
		b, err := booksOf(t.Context(), s, c.ID, "r1", "r7", "r50", "nobody's")
		require.NoError(t, err)
		require.Equal(t, int64(16), b.Coupon.Left)
		require.Equal(t, []int64{4, 6, 1}, []int64{b.Live, b.Orders, b.Voids})
		require.Equal(t, map[order.Status]int64{
			order.Pending: 3, order.Paid: 1, order.Cancelled: 1, order.Expired: 1, order.Void: 1,
		}, b.ByStatus)
		require.Equal(t, []int64{0, 0, 0, 0}, []int64{b.OverLimit, b.SameID, b.BadState, b.Stale})
		require.Equal(t, []int64{3, 4}, []int64{b.Due[0].OrderID, b.Due[1].OrderID})
		require.Len(t, b.Requests, 3)
		require.Equal(t, order.Void, b.Requests["r7"].Status)
		require.NotEqual(t, c.ID, b.Requests["r50"].CouponID, "a request may have led elsewhere")

		_, err = booksOf(t.Context(), s, 999)
		require.ErrorIs(t, err, coupon.ErrNotFound)
	})
}

func TestSnapshot_EachFault_IsReported(t *testing.T) {
	// Without its indexes the table takes what must never be.
	loose := []string{
		"ALTER TABLE orders RENAME TO sound", "CREATE TABLE orders AS SELECT * FROM sound",
		"CREATE INDEX orders_slot ON orders (coupon_id, user_id, slot)",
	}
	row := func(id, user int, slot, status, request string, fence int) string {
		return fmt.Sprintf("INSERT INTO orders SELECT %d, coupon_id, %d, %s, '%s', price_cents, '%s', shard, %d, created_at, expires_at FROM sound WHERE id = 1",
			id, user, slot, status, request, fence)
	}
	onBoth(t, func(t *testing.T, s *subject) {
		c := sold(t, s)
		for _, statement := range loose {
			raw(t, s, statement)
		}
		for name, tc := range map[string]struct {
			wrong []string
			over  int64
			same  int64
			bad   int64
			stale int64
		}{
			"a user has two above the limit of two": {[]string{row(101, 1, "2", "paid", "a", 7), row(102, 1, "3", "pending", "b", 7), row(103, 1, "4", "paid", "c", 7)}, 2, 0, 0, 0},
			"a user's ended orders do not count":    {[]string{row(101, 1, "NULL", "expired", "a", 7), row(102, 1, "NULL", "cancelled", "b", 7)}, 0, 0, 0, 0},
			"two orders share a request id":         {[]string{row(101, 8, "NULL", "void", "r1", 7)}, 0, 1, 0, 0},
			"an id is two users'":                   {[]string{row(1, 8, "NULL", "void", "a", 7)}, 0, 1, 0, 0},
			"a live order without a slot":           {[]string{"UPDATE orders SET slot = NULL WHERE id = 1"}, 0, 0, 1, 0},
			"an ended order with a slot":            {[]string{"UPDATE orders SET slot = 1 WHERE id = 3"}, 0, 0, 1, 0},
			"a status that there is none":           {[]string{"UPDATE orders SET status = 'lost', slot = NULL WHERE id = 1"}, 0, 0, 1, 0},
			"a paid order whose unit went back":     {[]string{"UPDATE stock_returns SET order_id = 2, user_id = 2 WHERE order_id = 3"}, 0, 0, 1, 0},
			"a pending order whose unit went back":  {[]string{"UPDATE stock_returns SET order_id = 1, user_id = 1 WHERE order_id = 3"}, 0, 0, 1, 0},
			"an order above its user's fence":       {[]string{"UPDATE orders SET fence = 8 WHERE id = 1"}, 0, 0, 0, 1},
			"an order whose user has no fence":      {[]string{"DELETE FROM fences WHERE user_id = 5"}, 0, 0, 0, 1},
			"a void one has no fence":               {[]string{row(101, 9, "NULL", "void", "a", 0)}, 0, 0, 0, 0},
		} {
			wrong := s.write.Begin()
			for _, statement := range tc.wrong {
				require.NoError(t, wrong.Exec(statement).Error, statement)
			}
			l, err := openSnapshot(t.Context(), wrong, s.dialect, c.ID)
			require.NoError(t, err)
			var b books
			require.NoError(t, b.read(t.Context(), l, nil))
			require.Equal(t, []int64{tc.over, tc.same, tc.bad, tc.stale}, []int64{b.OverLimit, b.SameID, b.BadState, b.Stale}, name)
			require.NoError(t, wrong.Rollback().Error)
		}
	})
}

// Half of a cancellation must never be seen: all is read at one moment.
func TestSnapshot_Reads_AreOfOneMoment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		const n = 40
		c := onSale(t, s, n)
		for id := int64(1); id <= n; id++ {
			placed(t, s, c, id, id)
		}
		cancelling := func() error {
			for id := int64(1); id <= n; id++ {
				if _, err := cancelOrder(t.Context(), s, wish(c, id, id)); err != nil {
					return err
				}
			}
			return nil
		}
		reading := func() error {
			for {
				b, err := booksOf(t.Context(), s, c.ID)
				if err != nil {
					return err
				}
				if b.Coupon.Left+b.Live != n || int64(len(b.Due)) != b.Coupon.Left {
					return fmt.Errorf("left %d, live %d, due %d", b.Coupon.Left, b.Live, len(b.Due))
				}
				if b.Live == 0 {
					return nil
				}
			}
		}
		for _, err := range together(cancelling, reading, reading) {
			require.NoError(t, err)
		}
	})
}

// Pages end with a user, whoever has how many orders; and an order of the last page that
// shares its id or request with one of the first is found.
func TestSnapshot_LargeSale_IsReadInPages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 9)
		row := func(id, user int, request string) string {
			return fmt.Sprintf("(%d, %d, %d, NULL, 'cancelled', 199, '%s', 3, 7, '2026-11-11 20:00:00', '2026-11-11 20:15:00')",
				id, c.ID, user, request)
		}
		const many, each = 2*snapshotPageRows + 500, 7
		rows, last := []string{}, many/each
		for id := 1; id <= many; id++ {
			rows = append(rows, row(id, id/each, fmt.Sprintf("r%d", id)))
		}
		rows = append(rows, row(1, last, "shared id"), row(many+1, last, "r2"))
		for some := range slices.Chunk(rows, 500) {
			raw(t, s, "INSERT INTO orders ("+orderColumns+") VALUES "+strings.Join(some, ","))
		}
		var fences []string
		for user := range last + 1 {
			fences = append(fences, fmt.Sprintf("(%d, 7)", user))
		}
		raw(t, s, "INSERT INTO fences (user_id, fence) VALUES "+strings.Join(fences, ","))

		pages, before := 0, int64(-1)
		err := s.ReadSnapshot(t.Context(), c.ID, func(ctx context.Context, l Snapshot) error {
			totals, err := l.Orders(ctx, func(_ context.Context, page []SnapshotOrder) error {
				if len(page) == 0 {
					return nil
				}
				pages++
				require.LessOrEqual(t, len(page), snapshotPageRows+each+2)
				require.Greater(t, page[0].UserID, before, "a user's orders are in one page")
				before = page[len(page)-1].UserID
				return nil
			})
			require.Equal(t, []int64{many + 2, 2, 0, 0}, []int64{totals.Orders, totals.SameID, totals.BadState, totals.Stale})
			return err
		})
		require.NoError(t, err)
		require.GreaterOrEqual(t, pages, 3)
	})
}

func TestSnapshot_ManyRequests_TakeSeveralQueries(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 3)
		placed(t, s, c, 1, 1)
		placed(t, s, c, 1200, 2)
		var asked []string
		for id := range 1201 {
			asked = append(asked, fmt.Sprintf("r%d", id))
		}
		b, err := booksOf(t.Context(), s, c.ID, asked...)
		require.NoError(t, err)
		require.Len(t, b.Requests, 2)
	})
}

func TestDuplicateFinder_DistinctValues_FewAreLookedUp(t *testing.T) {
	const orders = 200_000
	ids := newDuplicateFinder("id", orders)
	for id := range int64(orders) {
		ids.add(strconv.FormatInt(id, 10), id)
	}
	require.Less(t, len(ids.candidates), orders/1000)
	ids.candidates = nil
	ids.add("7", 7)
	require.Equal(t, []any{7}, ids.candidates)
	require.EqualValues(t, 8<<20, newDuplicateFinder("id", 1<<40).filter.Cap()/8, "bytes for the largest sale")
}
