package model

// raiser adds to the shards the units that an administrator has added to the running sale. Two of them are
// the instance that was asked and the restorer of another, which may have read a smaller number.
type raiser struct {
	at     int8 // the shard that is next, counted from 1; 0: the raiser has nothing to do
	epoch  uint8
	raised int8 // units that were added since the epoch began
	v      uint8
}

var raisers = [2]string{"a raiser", "another raiser"}

// addUnit is PATCH with one unit more. Shards that are open, or about to be, are owed the unit; while they
// are filled a new epoch begins, which has it.
func (m *Sale) addUnit(s State, tell func(Action, State)) {
	if s.raises == 0 || m.rowLocked(&s) {
		return
	}
	s.raises--
	s.db.added++
	act := Action{Who: "the administrator", Did: "adds a unit"}
	if s.db.onSale || s.db.opening || m.has(RaisedWhileFilled) {
		s.db.stock++
		s.db.raised++
	} else {
		m.nextEpoch(&s)
		s.db.stock++
		act.Said = "while the shards are filled: their epoch ends"
	}
	tell(act, s)
}

// raise goes on with one of the raisers.
func (m *Sale) raise(s State, n int8, tell func(Action, State)) {
	w := &s.raisers[n]
	act := Action{Who: raisers[n]}
	if w.at == 0 {
		if m.unraised(&s) == [shards]int8{} {
			return
		}
		for _, v := range m.fleet() {
			*w = raiser{at: 1, epoch: s.db.epoch, raised: s.db.raised, v: v}
			act.Did = "reads how many units were added"
			tell(act, s)
		}
		return
	}
	if s.left.Crashes > 0 {
		t := s
		t.left.Crashes--
		t.raisers[n] = raiser{}
		tell(Action{Who: act.Who, Did: "is killed", Fault: true}, t)
	}
	k := w.at - 1
	said := m.refuses(&s.redis[k], w.v)
	if said == "" {
		said = m.raiseShard(&s.redis[k], w.epoch, m.share(w.raised, k))
	}
	act.Did, act.Said = "RAISE"+where[k], string(said)
	if w.at++; said != okay || w.at > shards {
		s.raisers[n] = raiser{} // another pass does what is left
	}
	tell(act, s)
}

// raiseShard is raise.lua: raised is how many units the shard was given in all since its epoch began.
func (m *Sale) raiseShard(sh *shard, epoch uint8, raised int8) word {
	if m.has(RaiseIgnoresEpoch) {
		epoch = sh.epoch
	}
	if sh.epoch != epoch || !sh.open {
		return notLoaded
	}
	if m.has(RaiseAdds) {
		sh.units += raised
		sh.raised = raised
		return okay
	}
	if more := raised - sh.raised; more > 0 {
		sh.units += more
		sh.raised = raised
	}
	return okay
}

// unraised is how many of the added units each shard of the epoch does not have.
func (m *Sale) unraised(s *State) (owed [shards]int8) {
	for k := range int8(shards) {
		if sh := &s.redis[k]; sh.epoch == s.db.epoch {
			owed[k] = max(0, m.share(s.db.raised, k)-sh.raised)
		}
	}
	return owed
}
