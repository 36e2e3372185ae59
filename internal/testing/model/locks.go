package model

// beforeLock is where the orders are counted if that is done too early.
func (m *Sale) beforeLock(s *State, i int8) {
	if m.has(SnapshotBeforeLock) {
		live, slot := m.count(s, m.user(i))
		if s.tries[i].slot = slot; live >= m.Limit {
			s.tries[i].slot = 0
		}
	}
}

// lock takes the user's lock, or gives up waiting for it.
func (m *Sale) lock(s State, i int8, tell func(Action, State)) {
	l := &s.locks[m.user(i)]
	a := &s.tries[i]
	act := Action{Who: m.name(i), Did: "LOCK"}
	if l.holder != 0 && !m.has(LyingLock) {
		a.at, a.got = finishing, refused
		act.Said = "held by another for too long: busy"
		tell(act, s)
		return
	}
	t := s
	l = &t.locks[m.user(i)]
	l.holder, l.fence = i+1, l.fence+1
	t.tries[i].at, t.tries[i].fence = counting, l.fence
	act.Said = "granted"
	tell(act, t)
	if s.left.Losses > 0 {
		t.left.Losses--
		t.tries[i].at, t.tries[i].got = finishing, refused
		act.Said, act.Fault = "granted, the answer is lost", true
		tell(act, t)
	}
}

// inside reports whether attempt i believes that it has the user's lock.
func (a *attempt) inside() bool { return a.at >= counting && a.at <= unlocking }

// unlock releases the lock: if it is still the attempt's, and the outcome is known.
func (m *Sale) unlock(s State, i int8, tell func(Action, State)) {
	a := &s.tries[i]
	m.free(&s, i)
	act := Action{Who: m.name(i), Did: "UNLOCK"}
	switch {
	case a.tx == taken: // too early
		a.at = committing
	case a.got == staleFence && !a.raised:
		// Raise lifts the counter above what the database has seen, and Do runs again.
		l := &s.locks[m.user(i)]
		l.fence = max(l.fence, s.db.fences[m.user(i)])
		a.at, a.got, a.raised, a.fence = locking, unsure, true, 0
		act.Did = "UNLOCK, and lifts the fence"
	case a.got == staleFence:
		a.at, a.got = finishing, refused
	case a.got == inDoubt:
		a.at = noting
	default:
		a.at = finishing
	}
	tell(act, s)
}

// free is the release of the lock's server, which compares the owner.
func (m *Sale) free(s *State, i int8) {
	l := &s.locks[m.user(i)]
	a := s.tries[i]
	if a.tx != noTx || a.got == inDoubt {
		s.wrong = releasedTooEarly
	}
	switch {
	case l.holder == i+1:
		l.holder = 0
	case m.has(ReleaseWithoutOwner) && l.holder != 0:
		l.holder = 0
		s.wrong = releasedAnothers
	}
}

// leases returns which locks may run out. That one without a holder, or of a holder that
// leaves it to run out, does so is no fault.
func (m *Sale) leases(s State, tell func(Action, State)) {
	for u := range int8(users) {
		h := s.locks[u].holder
		if h == 0 {
			continue
		}
		who, inside := "the reconciler", s.reconciler.locked
		if h != reconciling {
			who, inside = m.name(h-1), s.tries[h-1].inside()
		}
		t := s
		t.locks[u].holder = 0
		act := Action{Who: "the lease of " + who, Did: "runs out"}
		if !inside {
			tell(act, t)
			continue
		}
		if s.left.Leases == 0 {
			continue
		}
		t.left.Leases--
		act.Did, act.Fault = "runs out while it works", true
		tell(act, t)
		if t.locks[u].fence = 0; s.locks[u].fence > 0 {
			act.Did = "is forgotten while it works, with the fences"
			tell(act, t)
		}
	}
}
