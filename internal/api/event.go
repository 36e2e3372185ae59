package api

import (
	"encoding/json"
	"time"

	"example.com/seckill/internal/coupon"
)

// saleEvent is one reading of a sale. The poll of the hub makes it, and every figure that the page shows of the sale is
// of one saleEvent. Units is the sum of Left, BeingWritten, Orders and Returning.
type saleEvent struct {
	CouponID int64        `json:"coupon_id,string"`
	State    coupon.State `json:"state"`
	BeginsAt time.Time    `json:"begins_at"`
	EndsAt   time.Time    `json:"ends_at"`

	Units        int64 `json:"units"`         // on sale
	Left         int64 `json:"left"`          // can be reserved
	BeingWritten int64 `json:"being_written"` // reserved, and not committed
	Orders       int64 `json:"orders"`        // committed, and neither cancelled nor expired
	Returning    int64 `json:"returning"`     // of ended orders, and not in a shard again

	Requests  int64           `json:"requests"` // that this instance has answered since it started
	TooLate   int64           `json:"too_late"` // of them answered sold_out
	SoldAgain int64           `json:"sold_again"`
	SoldOut   *soldOutFigures `json:"sold_out,omitempty"` // while every unit is an order

	Shards          []int64    `json:"shards"`
	OrdersPerSecond float64    `json:"orders_per_second"`
	P99Millis       float64    `json:"p99_ms"`
	Holds           []int64    `json:"holds"`
	Lent            []int64    `json:"lent"`
	LocksHeld       int64      `json:"locks_held"`
	LocksWaiting    int64      `json:"locks_waiting"`
	Instances       []Instance `json:"instances"`
	LatestOrder     []stepJSON `json:"latest_order,omitempty"`  // the steps of an order that was placed a moment ago
	UnpaidOrders    *int64     `json:"unpaid_orders,omitempty"` // while the coupon is sold out, if they are known
	UnpaidUntil     *time.Time `json:"unpaid_until,omitempty"`
	At              time.Time  `json:"at"`
}

// troubleEvent is the reason why a reading failed.
type troubleEvent struct {
	CouponID int64     `json:"coupon_id,string"`
	Code     string    `json:"code"`
	At       time.Time `json:"at"`
}

// Ledger has the figures of a sale in the database, at one moment.
type Ledger struct {
	Units     int64 // on sale
	Unsold    int64 // not sold
	Returning int64 // of Unsold: owed to the shards
}

// balance is a Ledger with the units that the shards have, as a sum without a remainder.
type balance struct{ units, left, beingWritten, orders, returning int64 }

// balanced returns the balance of a ledger and the units that the shards had after it was read. A unit that the
// database has not sold and that no shard has is on its way: to the database, or back to a shard.
//
//	units = left + being written + orders + returning
//
// The readings are not of one moment. A unit that came back between them is in the shards and not in the ledger: it is
// not left yet. A return that has arrived and is still owed is not returning any more.
func balanced(l Ledger, inShards int64) balance {
	left := min(inShards, l.Unsold)
	away := l.Unsold - left
	returning := min(l.Returning, away)
	return balance{l.Units, left, away - returning, l.Units - l.Unsold, returning}
}

func (b balance) soldOut() bool { return b.units > 0 && b.orders == b.units }

// reading holds the figures that the hub has read of a sale.
type reading struct {
	coupon coupon.Coupon
	ledger Ledger
	shards []int64 // nil if the coupon has none
	pulse  LiveStats
	counts *requestCounts
	latest []stepJSON
}

// event returns the event of a reading. Without shards, Left counts the units that the database has not sold.
func (r reading) event(p *rateMeter, now time.Time) saleEvent {
	c, pulse := r.coupon, r.pulse
	inShards := r.ledger.Unsold
	if r.shards != nil {
		inShards = sum(r.shards)
	}
	b := balanced(r.ledger, inShards)
	soldAgain := max(0, b.orders+pulse.CameBack+b.returning-b.units)
	answered, tooLate := r.counts.of(c.ID)
	e := saleEvent{
		CouponID: c.ID, State: c.StateAt(now), BeginsAt: wireTime(c.BeginsAt), EndsAt: wireTime(c.EndsAt), At: wireTime(now),
		Units: b.units, Left: b.left, BeingWritten: b.beingWritten, Orders: b.orders, Returning: b.returning,
		Requests: answered, TooLate: tooLate, SoldAgain: soldAgain,
		Shards: list(r.shards), OrdersPerSecond: p.of(b.orders, now),
		P99Millis: float64(pulse.P99.Microseconds()/100) / 10, Holds: list(pulse.Holds), Lent: list(pulse.Lent),
		LocksHeld: pulse.LocksHeld, LocksWaiting: pulse.LocksWaiting, Instances: list(pulse.Instances), LatestOrder: r.latest,
	}
	if b.soldOut() {
		e.SoldOut = r.counts.soldOut(c.ID, c.BeginsAt, b.orders+soldAgain, soldAgain)
	}
	if told := pulse.SoldOut; told != nil {
		e.UnpaidOrders, e.UnpaidUntil = &told.Unpaid, told.until()
	}
	return e
}

func sum(all []int64) (n int64) {
	for _, one := range all {
		n += one
	}
	return n
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
