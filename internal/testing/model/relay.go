package model

// relay hands one unit of the outbox to the shards. Two of them are the relay and the
// instance that cancelled the order, or two instances that both believe to be alone.
type relay struct {
	at    relaying
	order int8
	epoch uint8
	v     uint8 // of its instance
}

type relaying uint8

const (
	waiting    relaying = iota
	confirming          // at home, when the unit came from another shard
	returning           // RETURN at home
	forgetting          // delete the row of the outbox
)

func (m *Sale) relay(s State, n int8, tell func(Action, State)) {
	w := &s.relays[n]
	act := Action{Who: relays[n]}
	if w.at != waiting && s.left.Crashes > 0 {
		t := s
		t.left.Crashes--
		t.relays[n] = relay{}
		tell(Action{Who: act.Who, Did: "is killed", Fault: true}, t)
	}
	if w.at == waiting {
		m.pick(s, n, tell)
		return
	}
	home := m.home(w.order)
	if refused := m.refuses(&s.redis[home], w.v); refused != "" && w.at != forgetting {
		act.Did, act.Said = "asks"+where[home], string(refused)
		s.relays[n] = relay{} // another pass will do it
		tell(act, s)
		return
	}
	switch w.at {
	case confirming:
		act.Did = "CONFIRM" + where[home]
		act.Said = string(m.confirm(&s.redis[home], w.epoch, w.order))
		w.at = returning
	case returning:
		said := m.restock(&s.redis[home], w.epoch, w.order)
		act.Did, act.Said = "RETURN"+where[home], string(said)
		if w.at = forgetting; said == notLoaded {
			s.relays[n] = relay{} // another pass will do it
		}
	default:
		act.Did = "forgets the return of the unit"
		if s.db.due[w.order] == w.epoch || m.has(ForgottenWhatever) {
			s.db.due[w.order] = 0
		}
		s.relays[n] = relay{}
	}
	tell(act, s)
}

var relays = [2]string{"the relay", "the other relay"}

// pick reads a row of the outbox, and confirms the hold where its unit came from.
func (m *Sale) pick(s State, n int8, tell func(Action, State)) {
	for o, epoch := range s.db.due {
		if epoch == 0 {
			continue
		}
		for _, v := range m.fleet() {
			m.pickAs(s, n, int8(o), v, tell)
		}
	}
}

func (m *Sale) pickAs(s State, n, o int8, v uint8, tell func(Action, State)) {
	k, epoch := s.db.rows[o].shard, s.db.due[o]
	if m.refuses(&s.redis[k], v) != "" {
		return
	}
	w := relay{at: confirming, order: o, epoch: epoch, v: v}
	if k == m.home(o) {
		w.at = returning
	}
	act := Action{Who: relays[n], Did: "returns the unit of " + m.name(o)}
	if !m.has(ReturnWithoutConfirm) {
		act.Did += ": CONFIRM" + where[k]
		act.Said = string(m.confirm(&s.redis[k], epoch, o))
	} else {
		w.at = returning
	}
	s.relays[n] = w
	tell(act, s)
}

// change returns what may become of the order of attempt i. The state is asked for and
// written by one statement; the unit goes back with it, to the coupon's row, which is locked
// for that.
func (m *Sale) change(s State, i int8, tell func(Action, State)) {
	r := s.db.rows[i]
	if r.status != pending && (r.status != paid || !m.has(CancelWhatever)) {
		return
	}
	for n, to := range [...]status{paid, cancelled, expired} {
		if m.Changes&(1<<n) == 0 || to == r.status {
			continue
		}
		t := s
		t.db.rows[i].status = to
		if t.final[i] == absent {
			t.final[i] = to
		}
		if !to.live() {
			if m.rowLocked(&s) {
				continue
			}
			t.db.rows[i].slot = 0
			t.db.stock++
			t.db.due[i] = s.db.epoch
		}
		tell(Action{Who: "the order of " + m.name(i), Did: changes[n]}, t)
	}
}

var changes = [...]string{"is paid", "is cancelled", "expires"}
