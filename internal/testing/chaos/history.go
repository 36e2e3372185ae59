package chaos

import (
	"slices"
	"strconv"
	"time"
)

// history records that the database was rolled back to a copy. Commits after the copy was made are lost with
// it, and no program can know of them. Orders in the copy are not lost.
type history struct {
	at     time.Time // requests after this time reach the database as it is now
	orders map[int64]row
}

// after reports whether the database was rolled back after t.
func (h *history) after(t time.Time) bool { return h != nil && t.Before(h.at) }

// undone reports whether the rollback of the database lost an order: the order was acknowledged before the
// rollback, and the copy does not have it.
func (r *record) undone(o *acknowledged) bool {
	if o == nil || !r.history.after(o.asked) {
		return false
	}
	kept, is := r.history.orders[o.id]
	return !is || kept.user != o.wish.user
}

// allows reports whether the order may be in this state now. The rollback may have lost the payment or
// cancellation of its owner.
func (r *record) allows(o *acknowledged, status string, now time.Time) bool {
	if o.sure && r.history.after(o.followed) && r.history.orders[o.id].status != o.want {
		asked := *o
		asked.sure = false
		return asked.allows(status, now)
	}
	return o.allows(status, now)
}

// setBack records that from now on the database is the older one.
func (r *record) setBack(h *history) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = h
}

// wasSetBack reports whether the database was rolled back.
func (r *record) wasSetBack() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history != nil
}

// lostWithTheDatabase reports whether the rollback may have lost the order.
func (r *record) lostWithTheDatabase(o *acknowledged) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.undone(o)
}

// replaced reports whether the rollback lost the order and the order other has replaced it. The buyer has then
// sent a request with the same key again. The data about a queued order outside of the database lead to its
// request, and so to the replacement.
func (r *record) replaced(o *acknowledged, other string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, err := strconv.ParseInt(other, 10, 64)
	return err == nil && id != o.id && slices.Contains(o.wish.ids, id) && r.undone(o) && !r.undone(r.byOrder[id])
}
