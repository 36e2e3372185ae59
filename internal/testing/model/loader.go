package model

import "slices"

// loader sets the shards from the database under a new epoch, as coupon.Publish and
// stock.Fill and Open do it. One instance at a time does it.
type loader struct {
	at    loading
	epoch uint8
	units int8
	page  int8  // the user whose page is next
	count int8  // what was read of that user, and not noted yet
	v     uint8 // of its instance
}

type loading uint8

const (
	loaded    loading = iota
	clearing0         // CLEAR shard 0
	clearing1
	countingOrders // read a page of the buyers: one user
	notingBuyer
	sealing0 // NOTE that there are no more
	sealing1
	filled // write down that every shard has its buyers
	opening0
	opening1
	reopening // open the sale
	beginning // a shard is torn: begin another epoch
)

// sealed is the noted of a shard that has all buyers.
const sealed = users + 1

// unsound reports whether the shards are not as they were loaded.
func (s *State) unsound() bool {
	return slices.ContainsFunc(s.redis[:], func(sh shard) bool { return !sh.open || sh.moved || sh.epoch != s.db.epoch })
}

// reload begins an epoch when Redis has lost something or when an administrator wants it,
// and goes on with a loading that was begun, whether or not its loader lives.
func (m *Sale) reload(s State, tell func(Action, State)) {
	w := &s.loader
	if w.at != loaded {
		if s.left.Crashes > 0 {
			t := s
			t.left.Crashes--
			t.loader = loader{}
			tell(Action{Who: "the loader", Did: "is killed", Fault: true}, t)
		}
		m.load(s, tell)
		return
	}
	for _, v := range m.fleet() {
		m.reloadAs(s, v, tell)
	}
}

func (m *Sale) reloadAs(s State, v uint8, tell func(Action, State)) {
	switch {
	case !s.db.onSale:
		m.resume(s, v, tell)
		return
	case s.unsound() && !m.tooNew(&s, v), m.tooOld(&s, v):
	case s.reloads == 0:
		return
	default:
		s.reloads--
	}
	m.beginEpoch(s, v, tell)
}

func (m *Sale) beginEpoch(s State, v uint8, tell func(Action, State)) {
	if m.rowLocked(&s) {
		return
	}
	m.nextEpoch(&s)
	s.loader = loader{at: clearing0, epoch: s.db.epoch, units: s.db.stock, v: v}
	tell(Action{Who: "the loader", Did: "begins an epoch: the sale is closed"}, s)
}

// resume goes on: while no shard may be open, any of them may be filled again, because
// the outbox has what came back since.
func (m *Sale) resume(s State, v uint8, tell func(Action, State)) {
	s.loader = loader{at: opening0, epoch: s.db.epoch, v: v}
	if !s.db.opening || m.has(FilledAgain) {
		s.loader = loader{at: clearing0, epoch: s.db.epoch, units: s.db.stock, v: v}
		for _, e := range s.db.due {
			if e == s.db.epoch && !m.has(UnitsOfNow) {
				s.loader.units--
			}
		}
	}
	tell(Action{Who: "the loader", Did: "goes on with the epoch"}, s)
}

func (m *Sale) load(s State, tell func(Action, State)) {
	w := &s.loader
	act := Action{Who: "the loader"}
	var said word
	switch w.at {
	case clearing0, clearing1:
		k := int8(w.at - clearing0)
		act.Did = "CLEAR" + where[k]
		if said = m.clear(&s.redis[k], w.v, w.epoch, m.share(w.units, k)); k == 1 {
			w.page = min(s.redis[0].noted, s.redis[1].noted)
		}
		w.at++
	case sealing0, sealing1:
		k := int8(w.at - sealing0)
		act.Did = "NOTE" + where[k] + " that these are all"
		if said = m.newer(&s.redis[k], w.v); said == "" {
			said = m.note(&s.redis[k], w.epoch, sealed, nobody, 0)
		}
		w.at++
	case opening0, opening1:
		k := int8(w.at - opening0)
		act.Did = "OPEN" + where[k]
		if said = m.newer(&s.redis[k], w.v); said == "" {
			said = m.unclose(&s.redis[k], w.epoch)
		}
		w.at++
	default:
		m.loadBuyers(s, tell)
		return
	}
	switch act.Said = string(said); said { //nolint:exhaustive // the others are what it hopes for
	case older:
		act.Said = "OLDER: given up"
		s.loader = loader{}
	case newerLayout:
		act.Said += ": given up"
		s.loader = loader{}
	case torn:
		s.loader = loader{at: beginning, v: w.v}
	}
	tell(act, s)
}

// loadBuyers are the steps between those that go from shard to shard.
func (m *Sale) loadBuyers(s State, tell func(Action, State)) {
	w := &s.loader
	act := Action{Who: "the loader"}
	switch w.at {
	case countingOrders:
		if w.page >= users {
			w.at, w.page = sealing0, 0
			m.load(s, tell)
			return
		}
		act.Did = "counts the orders of a buyer"
		w.count, _ = m.count(&s, w.page)
		for o, e := range s.db.due {
			if e == w.epoch && m.user(int8(o)) == w.page && !m.has(OutboxNotCounted) {
				w.count++
			}
		}
		w.at = notingBuyer
	case notingBuyer:
		act.Did = "NOTE"
		home := &s.redis[m.Homes[w.page]]
		said := m.newer(home, w.v)
		if said == "" {
			said = m.note(home, w.epoch, w.page, w.page, w.count)
		}
		act.Said = string(said)
		w.at, w.count = countingOrders, 0
		w.page++
		if said == older || said == newerLayout {
			s.loader = loader{}
		}
	case filled:
		act.Did = "writes down that the shards are filled"
		if w.epoch != s.db.epoch {
			act.Said = "another epoch: given up"
			s.loader = loader{}
			break
		}
		s.db.opening = true
		*w = loader{at: opening0, epoch: w.epoch, v: w.v}
	case reopening:
		act.Did = "opens the sale"
		if w.epoch == s.db.epoch {
			s.db.onSale, s.db.opening = true, false
		} else {
			act.Said = "another epoch: given up"
		}
		s.loader = loader{}
	default:
		m.beginEpoch(s, w.v, tell)
		return
	}
	tell(act, s)
}
