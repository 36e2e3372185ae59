package stock

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/seckill/internal/order"
)

// An unresolved order and an entry of a queue keep an order as words separated by blanks, as holds
// are kept. Each queued order is written and read twice, and kept in Redis twice, which JSON with
// its names made a tenth of what such an order cost. The request is the last word, so that it may
// contain blanks.

const orderFields = 14

func encodeOrder(o order.Order) string {
	b := make([]byte, 0, 192)
	for _, n := range []int64{o.ID, o.CouponID, o.UserID, int64(o.Slot), o.PriceCents, int64(o.Shard)} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	b = append(strconv.AppendUint(b, o.Fence, 10), ' ')
	for _, n := range []int64{o.CreatedAt.UnixMilli(), o.ExpiresAt.UnixMilli(), o.Position.Epoch, o.Position.Number, o.Position.Ahead} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	b = append(append(b, o.Status...), ' ')
	return string(append(b, o.RequestID...))
}

func parseOrder(text string) (order.Order, error) {
	w := strings.SplitN(text, " ", orderFields)
	if len(w) != orderFields {
		return order.Order{}, fmt.Errorf("an order of %d words: %q", len(w), text)
	}
	var p parser
	o := order.Order{
		ID: p.number(w[0]), CouponID: p.number(w[1]), UserID: p.number(w[2]), Slot: int(p.number(w[3])),
		PriceCents: p.number(w[4]), Shard: int(p.number(w[5])), Fence: p.count(w[6]),
		CreatedAt: p.moment(w[7]), ExpiresAt: p.moment(w[8]),
		Position: order.QueuePosition{Epoch: p.number(w[9]), Number: p.number(w[10]), Ahead: p.number(w[11])},
		Status:   order.Status(w[12]), RequestID: w[13],
	}
	if p.err != nil {
		return order.Order{}, fmt.Errorf("the order %q: %w", text, p.err)
	}
	return o, nil
}

func (p *parser) count(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil && p.err == nil {
		p.err = err
	}
	return n
}

func (p *parser) moment(text string) time.Time { return time.UnixMilli(p.number(text)).UTC() }
