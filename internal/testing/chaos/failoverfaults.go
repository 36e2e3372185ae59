package chaos

import (
	"context"
	"errors"
	"time"
)

// failoverFaults take the primary of a replicated database away for good, with its disk. What was
// acknowledged is on another server, which is promoted, and the address moves to that.
func failoverFaults() []Fault {
	return []Fault{
		{Name: "database:primary-lost-semisync", kind: semiSync, harm: primaryLost},
		{Name: "database:primary-back-semisync", kind: semiSync, harm: primaryBack},
		{Name: "database:primary-lost-galera", kind: galera, harm: primaryLost},
	}
}

// sellsAgainWithin is how soon after the address has moved an order must come through.
const sellsAgainWithin = 20 * time.Second

func primaryLost(ctx context.Context, r *round) (bool, error) {
	b := r.env
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	b.spent = true
	if err := b.repl.LosePrimary(); err != nil {
		return false, err
	}
	promoted, err := b.repl.Promote(ctx)
	if err != nil {
		return false, err
	}
	r.again = sellsAgainWithin
	return true, errors.Join(b.db.Close(), b.openDatabase(promoted), b.toDB.Point(promoted.Addr()))
}

// wrongWay is how long the address leads to the old primary.
const wrongWay = 3 * time.Second

// primaryBack stops the primary for as long as it takes to promote its replica, and then leads the
// address back to it, by mistake: it has no replica, and so it must acknowledge nothing.
func primaryBack(ctx context.Context, r *round) (bool, error) {
	b := r.env
	at := 10 + r.rng.IntN(40)
	r.onTheWay(ctx, at)
	b.spent = true
	old := b.repl.Primary()
	if err := old.Pause(); err != nil {
		return false, err
	}
	promoted, err := b.repl.Promote(ctx)
	if err == nil {
		err = errors.Join(b.db.Close(), b.openDatabase(promoted), b.toDB.Point(promoted.Addr()))
	}
	defer func() { _ = old.Kill() }()
	if err := errors.Join(err, old.Resume()); err != nil {
		return false, err
	}
	r.onTheWay(ctx, at+5+r.rng.IntN(20))
	if err := b.toDB.Point(old.Addr()); err != nil {
		return false, err
	}
	_ = sleep(ctx, wrongWay)
	return true, b.toDB.Point(promoted.Addr())
}
