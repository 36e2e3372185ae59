package model

// transact runs the next statement of the attempt's transaction. A statement that
// has to wait for another transaction is no action until that has ended.
func (m *Sale) transact(s State, i int8, tell func(Action, State)) {
	switch s.tries[i].at {
	case counting:
		m.begin(s, i, tell)
	case inserting:
		m.insert(s, i, tell)
	case taking:
		m.take(s, i, tell)
	case committing:
		m.end(s, i, tell)
	default:
		m.void(s, i, tell)
		return
	}
	m.broken(s, i, tell)
}

// leave rolls back and goes on to the release of the lock.
func (a *attempt) leave(why outcome) {
	a.tx, a.slot, a.untaken = noTx, 0, false
	a.at, a.got = unlocking, why
}

// begin is BEGIN, the fence and the free slot. The last two are one action: if an
// order changes between them, the index refuses the insert.
func (m *Sale) begin(s State, i int8, tell func(Action, State)) {
	if m.fenced(&s, i) {
		return
	}
	a, u := &s.tries[i], m.user(i)
	act := Action{Who: m.name(i), Did: "BEGIN, fence, count", Said: "a slot is free"}
	live, slot := m.count(&s, u)
	if m.has(SnapshotBeforeLock) {
		if slot = a.slot; slot != 0 {
			live = 0
		}
	}
	switch {
	case s.db.fences[u] > a.fence && !m.has(NoFence):
		act.Said = "stale fence"
		a.leave(staleFence)
	case live >= m.Limit:
		act.Said = "limit reached"
		a.leave(refused)
	default:
		a.tx, a.slot, a.at = begun, slot, inserting
	}
	tell(act, s)
}

func (m *Sale) insert(s State, i int8, tell func(Action, State)) {
	a := &s.tries[i]
	if m.claimed(&s, i, i, a.order, a.slot) {
		return
	}
	act := Action{Who: m.name(i), Did: "inserts the order"}
	switch said := m.insertable(&s, i, a.order, a.slot); said {
	case duplicate:
		m.look4(&s, i, &act)
	case again:
		a.tx, a.slot, a.at = noTx, 0, counting
		act.Said = "the slot is taken: rolled back, again"
	default:
		a.tx, a.at = inserted, taking
	}
	tell(act, s)
}

// look4 reads the outcome of the request, after a duplicate.
func (m *Sale) look4(s *State, i int8, act *Action) {
	a := &s.tries[i]
	o, found := m.answered(&s.db, i)
	switch {
	case !found:
		act.Said = "the id was given twice"
		a.leave(refused)
	case s.db.rows[o].status == void:
		act.Said = "the request is void"
		a.leave(voided)
	default:
		act.Said = "the request has an order"
		a.leave(sold)
		a.result = o
	}
}

func (m *Sale) take(s State, i int8, tell func(Action, State)) {
	a := &s.tries[i]
	if m.rowLocked(&s) {
		return
	}
	act := Action{Who: m.name(i), Did: "takes one"}
	switch {
	case s.db.epoch != a.epoch && !m.has(TakeIgnoresEpoch):
		act.Said = "stale epoch: rolled back"
		a.leave(staleEpoch)
	case s.db.stock <= 0 && !m.has(NoConditionalUpdate):
		act.Said = "sold out: rolled back"
		a.leave(soldOutInDB)
	default:
		m.toCommit(a)
	}
	tell(act, s)
}

func (m *Sale) toCommit(a *attempt) {
	a.tx, a.at = taken, committing
	if m.has(UnlockBeforeCommit) {
		a.at, a.unlocked = unlocking, true
	}
	if m.has(AnswerBeforeCommit) {
		a.told, a.result = true, a.order
	}
}

// end is COMMIT.
func (m *Sale) end(s State, i int8, tell func(Action, State)) {
	act := Action{Who: m.name(i), Did: "COMMIT"}
	t := s
	m.commit(&t, i)
	t.tries[i].at, t.tries[i].got, t.tries[i].result = unlocking, sold, s.tries[i].order
	if s.tries[i].unlocked {
		t.tries[i].at = finishing
	}
	tell(act, t)
	if s.left.Losses == 0 {
		return
	}
	s.left.Losses--
	a := &s.tries[i]
	a.tx, a.at = doubtful, voiding
	if m.has(GiveBackOnCommitError) {
		a.at, a.got = finishing, refused
	}
	act.Said, act.Fault = "no answer", true
	tell(act, s)
}

// void decides a failed COMMIT: it waits for the transaction, should the
// server still have it, and then the order or the void order is there.
func (m *Sale) void(s State, i int8, tell func(Action, State)) {
	a := &s.tries[i]
	act := Action{Who: m.name(i), Did: "inserts the void order"}
	if m.has(UnlockInDoubt) {
		a.at, a.got = unlocking, inDoubt
		act.Did = "leaves it in doubt"
		tell(act, s)
		return
	}
	if s.left.Losses > 0 {
		t := s
		t.left.Losses--
		t.tries[i].at, t.tries[i].got = noting, inDoubt
		act.Said, act.Fault = "no answer", true
		tell(act, t)
	}
	if m.claimed(&s, nobody, i, a.order, 0) {
		return
	}
	act.Said, act.Fault = "", false
	said := m.insertable(&s, i, a.order, 0)
	if said == okay {
		s.db.rows[a.order] = row{status: void}
		a.leave(voided)
	} else {
		m.look4(&s, i, &act)
	}
	tell(act, s)
	if s.left.Losses > 0 {
		s.left.Losses--
		a.at, a.got, a.result = noting, inDoubt, 0
		act.Said, act.Fault = "done, the answer is lost", true
		tell(act, s)
	}
}

// broken is a fault of an open transaction, which is rolled back.
func (m *Sale) broken(s State, i int8, tell func(Action, State)) {
	act := Action{Who: m.name(i), Fault: true}
	if s.tries[i].at == committing {
		return
	}
	if s.locks[m.user(i)].holder != i+1 && !m.has(LyingLock) {
		t := s
		t.tries[i].leave(refused)
		tell(Action{Who: m.name(i), Did: "hears that its lease is lost: rolled back"}, t)
	}
	if s.left.Losses > 0 {
		t := s
		t.left.Losses--
		t.tries[i].leave(refused)
		act.Did = "loses its connection: rolled back"
		tell(act, t)
	}
	if s.left.Waits > 0 && s.tries[i].tx != noTx {
		s.left.Waits--
		a := &s.tries[i]
		if m.has(LockWaitIgnored) && a.at == taking {
			a.untaken = true
			m.toCommit(a)
			act.Did = "takes one: error 1205, ignored"
		} else {
			a.tx, a.slot, a.at = noTx, 0, counting
			act.Did = "error 1205: rolled back, again"
		}
		tell(act, s)
	}
}
