package model

// loader sets the shards from the database under a new epoch, as coupon.Publish and
// stock.Load do it. One instance at a time does it.
type loader struct {
	at     loading
	epoch  uint8
	units  int8
	bought [users]int8
}

type loading uint8

const (
	loaded    loading = iota
	clearing0         // CLEAR shard 0
	clearing1
	notingBuyers
	opening0
	opening1
	reopening // open the sale
)

// reload begins an epoch when Redis has lost something, when the last loading was cut
// off, or when an administrator wants it; and goes on with one that was begun.
func (m *Sale) reload(s State, tell func(Action, State)) {
	w := &s.loader
	act := Action{Who: "the loader"}
	if w.at != loaded {
		if s.left.Crashes > 0 {
			t := s
			t.left.Crashes--
			t.loader = loader{}
			tell(Action{Who: act.Who, Did: "is killed", Fault: true}, t)
		}
		m.load(s, tell)
		return
	}
	if m.rowLocked(&s) {
		return
	}
	act.Did = "begins an epoch: the sale is closed"
	if s.db.onSale && !s.lost {
		if s.reloads == 0 {
			return
		}
		s.reloads--
	}
	s.db.epoch++
	s.db.onSale, s.lost = false, false
	*w = loader{at: clearing0, epoch: s.db.epoch, units: s.db.stock}
	for u := range int8(users) {
		w.bought[u], _ = m.count(&s, u)
	}
	tell(act, s)
}

func (m *Sale) load(s State, tell func(Action, State)) {
	w := &s.loader
	act := Action{Who: "the loader"}
	said := okay
	switch w.at {
	case clearing0, clearing1:
		k := w.at - clearing0
		act.Did = "CLEAR" + where[k]
		m.clear(&s.redis[k], w.epoch) // OLDER is no news: a repeat finds its own epoch
	case notingBuyers:
		act.Did = "BUYERS"
		for u := range int8(users) {
			if said == okay {
				said = m.note(&s.redis[m.Homes[u]], w.epoch, u, w.bought[u])
			}
		}
	case opening0, opening1:
		k := int8(w.at - opening0)
		act.Did = "OPEN" + where[k]
		said = m.unclose(&s.redis[k], w.epoch, m.share(w.units, k))
	default:
		act.Did = "opens the sale"
		if s.db.epoch == w.epoch {
			s.db.onSale = true
		}
	}
	w.at++
	if said == older || w.at > reopening {
		s.loader = loader{}
	}
	if act.Said = string(said); said == older {
		act.Said = "OLDER: given up"
	}
	tell(act, s)
}
