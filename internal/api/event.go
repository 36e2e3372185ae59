package api

import (
	"encoding/json"
	"time"

	"example.com/seckill/internal/coupon"
)

// saleEvent is one reading of a sale. Sold counts the orders in the database, and Left counts the units in the shards.
// A unit on its way from a shard to the database is in neither. Taps counts the purchase requests that this instance
// has answered since it started.
type saleEvent struct {
	CouponID        int64        `json:"coupon_id,string"`
	State           coupon.State `json:"state"`
	Stock           int64        `json:"stock"`
	Sold            int64        `json:"sold"`
	Left            int64        `json:"left"`
	Shards          []int64      `json:"shards"`
	OrdersPerSecond float64      `json:"orders_per_second"`
	P99Millis       float64      `json:"p99_ms"`
	Holds           []int64      `json:"holds"`
	Lent            []int64      `json:"lent"`
	LocksHeld       int64        `json:"locks_held"`
	LocksWaiting    int64        `json:"locks_waiting"`
	Instances       []Instance   `json:"instances"`
	Taps            int64        `json:"taps"`
	UnpaidOrders    *int64       `json:"unpaid_orders,omitempty"` // while the coupon is sold out, if they are known
	UnpaidUntil     *time.Time   `json:"unpaid_until,omitempty"`
	At              time.Time    `json:"at"`
}

// troubleEvent is the reason why a reading failed.
type troubleEvent struct {
	CouponID int64     `json:"coupon_id,string"`
	Code     string    `json:"code"`
	At       time.Time `json:"at"`
}

// sale returns the event of a coupon. shards has the units of each shard. If it is nil, Left is the database's stock.
func sale(c coupon.Coupon, shards []int64, pulse LiveStats, taps int64, p *rateMeter, now time.Time) []byte {
	e := saleEvent{
		CouponID: c.ID, State: c.StateAt(now), Stock: c.Total, Sold: c.Total - c.Left, Left: c.Left,
		Shards: list(shards), At: wireTime(now),
		P99Millis: float64(pulse.P99.Microseconds()/100) / 10, Holds: list(pulse.Holds), Lent: list(pulse.Lent),
		LocksHeld: pulse.LocksHeld, LocksWaiting: pulse.LocksWaiting, Instances: list(pulse.Instances), Taps: taps,
	}
	if shards != nil {
		e.Left = 0
		for _, n := range shards {
			e.Left += n
		}
	}
	e.OrdersPerSecond = p.of(e.Sold, now)
	if told := pulse.SoldOut; told != nil {
		e.UnpaidOrders, e.UnpaidUntil = &told.Unpaid, told.until()
	}
	return eventText("sale", e)
}

// list returns all, but an empty list for nil, because nil is null in JSON.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func trouble(id int64, code string, now time.Time) []byte {
	return eventText("trouble", troubleEvent{CouponID: id, Code: code, At: wireTime(now)})
}

func eventText(name string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // numbers, times and strings
	}
	return []byte("event: " + name + "\ndata: " + string(text) + "\n\n")
}

// rateMeter measures how much a counter grows per second, over its last few readings.
type rateMeter struct {
	seen []sample
}

type sample struct {
	n  int64
	at time.Time
}

// rateWindow is the number of readings that a rateMeter compares. They span two seconds.
const rateWindow = 5

// of adds a reading and returns the growth per second, to one decimal. A decrease counts as 0.
func (p *rateMeter) of(n int64, at time.Time) float64 {
	p.seen = append(p.seen, sample{n, at})
	if len(p.seen) > rateWindow {
		p.seen = p.seen[1:]
	}
	first := p.seen[0]
	took := at.Sub(first.at).Seconds()
	if took <= 0 || n <= first.n {
		return 0
	}
	return float64(int64(float64(n-first.n)/took*10+0.5)) / 10
}
