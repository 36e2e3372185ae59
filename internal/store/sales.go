package store

import "context"

// Sales has two numbers of a coupon, from one snapshot of the database.
type Sales struct {
	Units  int64 // on sale in all
	Orders int64 // live
}

// Oversold returns the number of live orders above the units. It is 0 unless the program is wrong.
func (s Sales) Oversold() int64 { return max(0, s.Orders-s.Units) }

// Sales returns the numbers of the coupons by their ids. Unknown ids are left out. The database counts the live orders,
// so the time of a call grows with their number.
func (s *Store) Sales(ctx context.Context, ids ...int64) (map[int64]Sales, error) {
	var rows []struct {
		ID, Total, Live int64
	}
	err := s.read.WithContext(ctx).Raw("SELECT c.id, c.total, (SELECT COUNT(*) FROM orders o "+
		"WHERE o.coupon_id = c.id AND o.slot IS NOT NULL) AS live FROM coupons c WHERE c.id IN ?", ids).Scan(&rows).Error
	if err != nil {
		return nil, wrap(err, "count the live orders of coupons")
	}
	all := make(map[int64]Sales, len(rows))
	for _, r := range rows {
		all[r.ID] = Sales{Units: r.Total, Orders: r.Live}
	}
	return all, nil
}
