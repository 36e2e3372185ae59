package model

// setBack is an operator who copies the database, and later puts the copy in its place:
// a backup that is restored, a clone or a replica that lacks the last writes. What was
// committed in between is lost with it, and what was told of that is no promise any more.
func (m *Sale) setBack(s State, tell func(Action, State)) {
	if s.left.SetBacks == 0 {
		return
	}
	act := Action{Who: "the database", Fault: true}
	if !s.hasCopy {
		s.copied, s.hasCopy = s.db, true
		act.Did = "is copied"
		tell(act, s)
		return
	}
	s.left.SetBacks--
	lost := s.db
	s.db, s.copied, s.hasCopy, s.behind = s.copied, database{}, false, !m.has(MarkNotCompared)
	for i := range m.wishes() {
		m.cutOff(&s, i, &lost)
	}
	for o, r := range s.db.rows {
		if r.status != s.final[o] {
			s.final[o] = absent
		}
	}
	act.Did = "is set back to its copy"
	tell(act, s)
}

// cutOff ends the transaction of an attempt, and takes note if what the attempt knows was
// lost.
func (m *Sale) cutOff(s *State, i int8, lost *database) {
	a := &s.tries[i]
	switch {
	case a.tx == noTx:
	case a.tx == doubtful:
		a.tx = noTx
		m.forget(s, i)
	case a.at == committing:
		a.tx, a.at = noTx, voiding
	default:
		a.leave(refused)
	}
	known, sure := a.result, a.told || a.got == sold
	if a.got == voided {
		known, sure = m.answered(lost, i)
	}
	a.undone = a.undone || sure && s.db.rows[known].status.order() != lost.rows[known].status.order() ||
		a.got == voided && sure && s.db.rows[known].status != void
}

// heartbeat is the next one after the database was set back: Redis knows a later mark, and
// so every epoch ends.
func (m *Sale) heartbeat(s State, tell func(Action, State)) {
	if !s.behind || m.rowLocked(&s) {
		return
	}
	s.behind = false
	m.nextEpoch(&s)
	tell(Action{Who: "the heartbeat", Did: "finds the database older than Redis: its epoch ends"}, s)
}

// nextEpoch begins an epoch that no shard knows, and closes the sale.
func (m *Sale) nextEpoch(s *State) {
	if s.db.epoch++; !m.has(EpochsCountOn) {
		s.db.epoch = s.newest + 1
	}
	s.newest = max(s.newest, s.db.epoch)
	s.db.onSale, s.db.opening, s.db.raised = false, false, 0
}
