package model

// reconciler is one pass over one hold, as reconcile.go does it. It may be at work on a
// hold of any age: that a young one is left alone saves work and keeps nothing safe.
type reconciler struct {
	at     pass
	order  int8
	shard  int8
	epoch  uint8
	sold   bool
	locked bool
	v      uint8 // of its instance
}

type pass uint8

const (
	resting    pass = iota
	found           // it has read a hold
	deciding        // it has the lock: the void order decides
	acting          // CONFIRM or RELEASE where the hold is
	actingHome      // and at home
)

func (m *Sale) reconcile(s State, tell func(Action, State)) {
	if m.Reconcilers == 0 || m.has(NoReconciler) {
		return
	}
	w := &s.reconciler
	act := Action{Who: "the reconciler"}
	if s.left.Crashes > 0 && w.at != resting {
		t := s
		t.left.Crashes--
		t.reconciler = reconciler{}
		tell(Action{Who: act.Who, Did: "is killed", Fault: true}, t)
	}
	switch w.at {
	case resting:
		m.find(s, tell)
	case found:
		m.lockHold(s, tell)
	case deciding:
		m.decide(s, tell)
	case acting:
		act.Did, act.Said = m.actOnHold(&s, w.shard)
		if w.at = actingHome; w.shard == m.home(w.order) {
			m.rest(&s)
		}
		tell(act, s)
	case actingHome:
		act.Did, act.Said = m.actOnHold(&s, m.home(w.order))
		m.rest(&s)
		tell(act, s)
	}
}

// find reads the holds: each entry of each shard is a hold to reconcile.
func (m *Sale) find(s State, tell func(Action, State)) {
	for k, sh := range s.redis {
		for o, h := range sh.holds {
			if h.kind == none {
				continue
			}
			for _, v := range m.fleet() {
				if m.refuses(&sh, v) != "" {
					continue
				}
				t := s
				t.reconciler = reconciler{at: found, order: int8(o), shard: int8(k), epoch: sh.epoch, v: v}
				tell(Action{Who: "the reconciler", Did: "finds the hold of " + m.name(int8(o)) + where[k]}, t)
			}
		}
	}
}

// lockHold takes the user's lock, or leaves the hold for the next pass.
func (m *Sale) lockHold(s State, tell func(Action, State)) {
	l := &s.locks[m.user(s.reconciler.order)]
	if l.holder != 0 && !m.has(LyingLock) {
		s.reconciler = reconciler{}
		tell(Action{Who: "the reconciler", Did: "LOCK", Said: "held by another: the next pass"}, s)
		return
	}
	l.holder = reconciling
	s.reconciler.at, s.reconciler.locked = deciding, true
	tell(Action{Who: "the reconciler", Did: "LOCK", Said: "granted"}, s)
}

func (m *Sale) decide(s State, tell func(Action, State)) {
	w := &s.reconciler
	act := Action{Who: "the reconciler", Did: "inserts the void order"}
	said := duplicate
	if m.has(ReconcilerWithoutVoid) {
		act.Did = "looks for the order"
	} else {
		if m.claimed(&s, nobody, w.order, w.order, 0) {
			return
		}
		said = m.insertable(&s, w.order, w.order, 0)
	}
	w.at = acting
	if said == okay {
		s.db.rows[w.order] = row{status: void}
		tell(act, s)
		return
	}
	o, known := m.answered(&s.db, w.order)
	if w.sold = known && o == w.order && s.db.rows[o].status != void; w.sold {
		act.Said = "there is an order"
	} else {
		act.Said = "there is none"
	}
	tell(act, s)
}

func (m *Sale) actOnHold(s *State, k int8) (did, said string) {
	w := s.reconciler
	if refused := m.refuses(&s.redis[k], w.v); refused != "" {
		return "acts" + where[k], string(refused)
	}
	if w.sold {
		return "CONFIRM" + where[k], string(m.confirm(&s.redis[k], w.epoch, w.order))
	}
	return "RELEASE" + where[k], string(m.release(&s.redis[k], w.epoch, w.order, everyone))
}

// rest releases the lock, if it is still the reconciler's, and ends the pass.
func (m *Sale) rest(s *State) {
	if l := &s.locks[m.user(s.reconciler.order)]; l.holder == reconciling {
		l.holder = 0
	}
	s.reconciler = reconciler{}
}
