package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

// A few rows are named in another way than many, and many are more than one statement has.
func TestOutbox_UnitsInShards_LeaveItOnlyThen(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		for _, n := range []int64{1, fewKeys, fewKeys + 1, keysPerStatement + fewKeys + 2} {
			of := func(id int64) order.Restock {
				return order.Restock{OrderID: id, CouponID: 1, UserID: id, Shard: 1, Epoch: 2, Shards: 4}
			}
			var rows []returnRow
			var delivered, stay []order.Restock
			for id := int64(1); id <= n; id++ {
				gone, another, later := of(10*id), of(10*id+1), of(10*id+2)
				rows = append(rows, returnRow(gone), returnRow(another), returnRow(later))
				stay = append(stay, another, later)
				another.UserID++
				later.Epoch--
				delivered = append(delivered, gone, another, later)
			}
			require.NoError(t, s.write.CreateInBatches(rows, 100).Error)
			require.NoError(t, s.Delivered(t.Context(), delivered...))
			due, err := s.DueRestocks(t.Context(), 0, len(rows))
			require.NoError(t, err)
			require.Equal(t, stay, due, "%d delivered", n)
			require.NoError(t, s.Delivered(t.Context(), stay...))
			due, err = s.DueRestocks(t.Context(), 0, 1)
			require.NoError(t, err)
			require.Empty(t, due)
		}
	})
}

// What a statement costs must grow as its rows do, and not faster: to plan an OR for each of 128
// takes longer than to read them.
func TestRowKeys_Many_AreJoinedNotListed(t *testing.T) {
	for _, d := range []dialect{mysqlDialect, sqliteDialect} {
		for _, k := range []rowKey{orderByID, orderByRequest, orderByBuyer, entrantByUser, returnByOrder} {
			for _, statement := range []string{
				k.selectSQL(d, "user_id", keysPerStatement), k.deleteSQL(d, keysPerStatement), k.updateSQL(d, "shard = 1", keysPerStatement),
			} {
				require.NotContains(t, statement, " OR ")
			}
		}
	}
}

func TestFindOrders_ManyTogether_AreAllFound(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 50)
		for id := int64(1); id <= 20; id++ {
			placed(t, s, c, id, id)
		}
		for _, n := range []int64{1, fewKeys, fewKeys + 1, 20} {
			for name, of := range map[string]struct {
				by    rowKey
				value func(id int64) any
			}{
				"by id":      {orderByID, func(id int64) any { return id }},
				"by request": {orderByRequest, func(id int64) any { return fmt.Sprintf("r%d", id) }},
			} {
				var all []*orderQuery
				for id := range n {
					all = append(all, &orderQuery{key: orderKey{of.value(id + 1), id + 1 + id%2}}) // every second is another's
				}
				rows, err := s.readOrders(of.by)(t.Context(), all)
				require.NoError(t, err)
				var found []int64
				for _, r := range rows {
					found = append(found, r.ID)
				}
				slices.Sort(found)
				var want []int64
				for id := int64(1); id <= n; id += 2 {
					want = append(want, id)
				}
				require.Equal(t, want, found, "%s, %d", name, n)
			}
		}
	})
}
