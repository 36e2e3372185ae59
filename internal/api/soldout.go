package api

import (
	"encoding/json"
	"time"

	"example.com/seckill/internal/coupon"
)

// UnpaidOrders knows from memory which sold-out coupons may have units again.
type UnpaidOrders interface {
	// Unpaid returns what was seen some seconds ago, or nil if nothing was. It does no I/O.
	Unpaid(couponID int64) *SoldOut
}

// SoldOut is a coupon.ErrSoldOut with the orders that await their payment: each of them that is not paid
// gives its unit back. It is made when the orders are counted, and returned as it is for every request until
// they are counted again.
type SoldOut struct { //nolint:errname // it is a refusal, told to thousands
	Unpaid int64     // orders
	Until  time.Time // when the last of them expires; zero if there is none
	body   []byte    // of the problem
}

// NewSoldOut returns a SoldOut.
func NewSoldOut(unpaid int64, until time.Time) *SoldOut {
	s := &SoldOut{Unpaid: unpaid, Until: wireTime(until)}
	p := problemOf(coupon.ErrSoldOut)
	told := soldOutJSON{problemJSON: p.json(""), Unpaid: unpaid, Until: s.until()}
	if unpaid > 0 {
		told.Detail = "No unit is left for now: some orders are not paid yet."
	}
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // strings, numbers and a time
	}
	s.body = text
	return s
}

// soldOutJSON is the problem of a SoldOut.
type soldOutJSON struct {
	problemJSON

	Unpaid int64      `json:"unpaid_orders"`
	Until  *time.Time `json:"unpaid_until,omitempty"`
}

// until returns Until as it is shown, nil if there is none.
func (s *SoldOut) until() *time.Time {
	if s.Unpaid == 0 {
		return nil
	}
	return &s.Until
}

func (*SoldOut) Error() string { return coupon.ErrSoldOut.Error() }

func (*SoldOut) Unwrap() error { return coupon.ErrSoldOut }

// soldOut returns err, or what is known besides if it is that a coupon is sold out.
func (s *Server) soldOut(couponID int64, err error) error {
	if err != coupon.ErrSoldOut || s.deps.Unpaid == nil { //nolint:errorlint // the most frequent refusal comes as it is
		return err
	}
	if told := s.deps.Unpaid.Unpaid(couponID); told != nil {
		return told
	}
	return err
}
