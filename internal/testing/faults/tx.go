package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/seckill/internal/order"
)

// errNotSent is a COMMIT that never reached the server.
var errNotSent = errors.New("faults: the commit was lost on its way")

// InTx implements order.Database. The first statement names its purpose: a payment, a cancellation or an expiry. The
// points before a commit are crossed inside the transaction, those after it outside.
func (d database) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	commit := ""
	err := d.Database.InTx(context.WithValue(ctx, inside{}, true), func(ctx context.Context, inner order.Tx) error {
		if err := d.p.hit(ctx, "begin.after", nil); err != nil {
			return err
		}
		w := &watched{Tx: inner, p: d.p}
		if err := work(ctx, w); err != nil {
			return err
		}
		if w.idle {
			return nil
		}
		commit = w.what + "commit"
		if d.p.hit(ctx, commit+".before", nil) != nil {
			return errNotSent
		}
		if action := d.p.pass(commit + ".during"); action != "" {
			d.p.soon(action)
		}
		return nil
	})
	switch {
	case errors.Is(err, errNotSent):
		err = fmt.Errorf("%w: %w", order.ErrCommitUnknown, errCut)
	case err == nil && commit != "":
		err = d.p.hit(ctx, commit+".after", order.ErrCommitUnknown)
	}
	return err
}

// watched is a transaction whose statements are steps. A statement whose connection is lost poisons
// it: the caller abandons it.
type watched struct {
	order.Tx
	p    *Points
	what string // "pay.", "cancel." or "expire."
	idle bool   // there was nothing to do
}

// Pay implements order.Tx.
func (w *watched) Pay(ctx context.Context, id, userID int64, now time.Time) (moved bool, err error) {
	return w.move(ctx, "pay", func() (bool, error) { return w.Tx.Pay(ctx, id, userID, now) })
}

// Cancel implements order.Tx.
func (w *watched) Cancel(ctx context.Context, id, userID int64) (bool, error) {
	return w.move(ctx, "cancel", func() (bool, error) { return w.Tx.Cancel(ctx, id, userID) })
}

// Expire implements order.Tx.
func (w *watched) Expire(ctx context.Context, now time.Time, skip, most int) (expired []order.Order, err error) {
	_, err = w.move(ctx, "expire", func() (bool, error) {
		expired, err = w.Tx.Expire(ctx, now, skip, most)
		w.idle = err == nil && len(expired) == 0
		return !w.idle, err
	})
	return expired, err
}

// Restock implements order.Tx.
func (w *watched) Restock(ctx context.Context, of ...order.Order) (back []order.Restock, err error) {
	err = w.p.at(ctx, "giveback", nil, func() (err error) {
		back, err = w.Tx.Restock(ctx, of...)
		return err
	})
	return back, err
}

func (w *watched) move(ctx context.Context, what string, do func() (bool, error)) (moved bool, err error) {
	w.what = what + "."
	err = w.p.at(ctx, what, nil, func() (err error) {
		moved, err = do()
		return err
	})
	return moved, err
}
