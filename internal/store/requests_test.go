package store

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

// atOnce asks for requests in one statement.
func atOnce(s *subject, of ...orderKey) []*orderQuery {
	all := make([]*orderQuery, len(of))
	for i, key := range of {
		all[i] = &orderQuery{key: key, done: make(chan struct{})}
	}
	s.byRequest.process(all)
	return all
}

func TestFindRequests_Together_EachFindsItsOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 50)
		var all []orderKey
		for id := int64(1); id <= 20; id++ {
			placed(t, s, c, id, id)
			mine := strconv.FormatInt(id, 10)
			all = append(all, orderKey{"r" + mine, id}, orderKey{"r" + mine, id}, // the same twice
				orderKey{"r" + mine, id + 1}, orderKey{"R" + mine, id}, orderKey{"", id})
		}
		for i, q := range atOnce(s, all...) {
			if i%5 < 2 {
				require.NoError(t, q.err)
				require.Equal(t, wish(c, q.key.user, q.key.user), q.order)
			} else {
				require.ErrorIs(t, q.err, order.ErrNotFound, "%v", q.key)
			}
		}
	})
}

// With many orders in the table a request must still be one look, in its user's
// partition only.
func TestFindRequest_ManyOrders_IsOneLookup(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *subject) *subject{
		"one table":  func(_ *testing.T, s *subject) *subject { return s },
		"partitions": split,
	} {
		t.Run(name, func(t *testing.T) {
			s := prepare(t, onItsOwn(t))
			raw(t, s, `INSERT INTO orders SELECT seq, 1, seq, 1, 'pending', 1, CONCAT('r', seq), 0, 1, NOW(3), NOW(3) FROM seq_1_to_20000`)
			raw(t, s, "ANALYZE TABLE orders")
			var some []orderKey
			for user := int64(100); len(some) < 24; user += 8 {
				some = append(some, orderKey{"r" + strconv.FormatInt(user, 10), user})
			}
			before := reads(t, s)
			all := atOnce(s, append(some, orderKey{"р100", 100})...) // a letter that the column cannot have
			for _, q := range all[:24] {
				require.NoError(t, q.err)
			}
			require.ErrorIs(t, all[24].err, order.ErrNotFound)
			looks := reads(t, s) - before
			require.GreaterOrEqual(t, looks, 24)
			require.Less(t, looks, 3*24)
		})
	}
}
