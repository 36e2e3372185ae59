package audit

import (
	"bytes"
	"context"
	"encoding/hex"

	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/store"
)

// drawn is a draw that has ended, held against its tickets.
type drawn struct {
	lottery.Draw

	tickets, winners int64
	last             string // the largest rank of a ticket whose request has a row
	passedOver       int64  // tickets without an order, and with a smaller rank than one that has an order
}

// holds reports whether the draw went by the ranks of its tickets. An instance that stood still while another
// has ended the draw may go on with the next ranks, so there may be more winners than were noted. A void
// ticket got nothing. So it passes over no ticket, and a later rank that has an order passes over it.
func (d *drawn) holds() bool {
	return d.passedOver == 0 && d.tickets == d.Entrants && d.winners >= d.Winners && d.last >= d.LastRank
}

// readDraw holds a draw against its tickets. Before the draw has ended, the ticket of each winner has an order, or void
// rows if it could have none; the other tickets never have a row.
func (e *evidence) readDraw(ctx context.Context, l store.Snapshot) error {
	var tickets []ranked
	d, ended, err := l.Draw(ctx, func(page []lottery.Entrant) {
		for _, t := range page {
			tickets = append(tickets, ranked{t.Order.UserID, t.Sold, t.Void, t.PassedOver(e.coupon.LimitPerUser)})
		}
	})
	if err != nil || !ended {
		return err
	}
	e.draw = &drawn{Draw: d, tickets: int64(len(tickets))}
	var last, bought []byte // the largest ranks
	for _, t := range tickets {
		if !t.sold && !t.void {
			continue
		}
		e.draw.winners++
		rank := d.Rank(t.user)
		last = larger(last, rank[:])
		if t.sold {
			bought = larger(bought, rank[:])
		}
	}
	e.draw.last = hex.EncodeToString(last)
	for _, t := range tickets {
		if rank := d.Rank(t.user); t.passedOver && bytes.Compare(rank[:], bought) < 0 {
			e.draw.passedOver++
		}
	}
	return nil
}

// larger returns the larger of two ranks.
func larger(a, b []byte) []byte {
	if bytes.Compare(a, b) > 0 {
		return a
	}
	return b
}

// ranked is a ticket: a million of them are 16 MB.
type ranked struct {
	user       int64
	sold, void bool
	passedOver bool // if a later rank has an order
}
