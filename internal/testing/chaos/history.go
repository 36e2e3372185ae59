package chaos

import (
	"slices"
	"strconv"
	"time"
)

// history is that the database was set back: what was committed since its copy was made is
// lost with it, and no program can know of that. What the copy has is not.
type history struct {
	at     time.Time // what was asked for later was asked of the database as it is now
	orders map[int64]row
}

// after reports whether the database was set back after that time.
func (h *history) after(t time.Time) bool { return h != nil && t.Before(h.at) }

// undone reports whether an order was lost with the database: it was told before, and the
// copy does not have it.
func (r *record) undone(o *acknowledged) bool {
	if o == nil || !r.history.after(o.asked) {
		return false
	}
	kept, is := r.history.orders[o.id]
	return !is || kept.user != o.wish.user
}

// allows reports whether the order may be in this state now. What its owner made of it may
// have been lost with the database.
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

// wasSetBack reports whether the database was set back.
func (r *record) wasSetBack() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history != nil
}

// lostWithTheDatabase reports whether the order may be gone.
func (r *record) lostWithTheDatabase(o *acknowledged) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.undone(o)
}

// replaced reports whether the order was lost with the database, and is the other one now: its
// buyer has asked again with the same key. What is known of a queued order outside of the
// database leads to its request, and so to that one.
func (r *record) replaced(o *acknowledged, other string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, err := strconv.ParseInt(other, 10, 64)
	return err == nil && id != o.id && slices.Contains(o.wish.ids, id) && r.undone(o) && !r.undone(r.byOrder[id])
}
