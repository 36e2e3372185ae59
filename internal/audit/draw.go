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
	passedOver       int64  // tickets without a row, and with a smaller rank than one whose request has an order
}

// holds reports whether the draw went by the ranks of its tickets. An instance that stood still while another
// has ended the draw may go on with the next ranks, so there may be more winners than were noted. A void
// request got nothing, and so passes over no ticket.
func (d *drawn) holds() bool {
	return d.passedOver == 0 && d.tickets == d.Entrants && d.winners >= d.Winners && d.last >= d.LastRank
}

// readDraw holds a draw against its tickets. A winner's request has a row, an order or a void one, before the
// draw has ended; the requests of the others never have one.
func (e *evidence) readDraw(ctx context.Context, l store.Snapshot) error {
	var tickets []ranked
	d, ended, err := l.Draw(ctx, func(page []lottery.Entrant) {
		for _, t := range page {
			tickets = append(tickets, ranked{t.Order.UserID, t.Decided, t.Void})
		}
	})
	if err != nil || !ended {
		return err
	}
	e.draw = &drawn{Draw: d, tickets: int64(len(tickets))}
	var last, bought []byte // the largest ranks
	for _, t := range tickets {
		if !t.decided {
			continue
		}
		e.draw.winners++
		rank := d.Rank(t.user)
		last = larger(last, rank[:])
		if !t.void {
			bought = larger(bought, rank[:])
		}
	}
	e.draw.last = hex.EncodeToString(last)
	for _, t := range tickets {
		if rank := d.Rank(t.user); !t.decided && bytes.Compare(rank[:], bought) < 0 {
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
	user          int64
	decided, void bool
}
