package model

// stage is how far a transaction is. No other transaction sees its writes before its
// commit; others wait for its locks.
type stage uint8

const (
	noTx     stage = iota
	begun          // it has the user's fence row, and has counted
	inserted       // and the entries of its order in the unique indexes
	taken          // and the coupon's row
	doubtful       // its COMMIT was sent and the reply was lost: the server decides
)

// fenced reports whether a transaction of another attempt has the user's fence row.
func (m *Sale) fenced(s *State, i int8) bool {
	for j := range m.wishes() {
		if j != i && s.tries[j].tx >= begun && m.user(j) == m.user(i) && !m.has(NoFence) {
			return true
		}
	}
	return false
}

// claimed reports whether a transaction other than self's has inserted a row that an
// insert of the order o, for the request of attempt i, must wait for.
func (m *Sale) claimed(s *State, self, i, o, slot int8) bool {
	for j := range m.wishes() {
		t := &s.tries[j]
		if j == self || t.tx < inserted {
			continue
		}
		sameRequest := m.request(j) == m.request(i) && !m.has(NoRequestIndex)
		sameSlot := slot > 0 && t.slot == slot && m.user(j) == m.user(i) && !m.has(NoSlotIndex)
		if t.order == o || sameRequest || sameSlot {
			return true
		}
	}
	return false
}

// The self of an insert outside of the attempts' transactions.
const nobody = -1

// rowLocked reports whether a transaction has the coupon's row.
func (m *Sale) rowLocked(s *State) bool {
	for i := range m.wishes() {
		if s.tries[i].tx >= taken {
			return true
		}
	}
	return false
}

// answered finds the order, or the void one, that the request of attempt i has.
func (m *Sale) answered(db *database, i int8) (o int8, found bool) {
	for o := range m.wishes() {
		if db.rows[o].status != absent && m.request(o) == m.request(i) {
			return o, true
		}
	}
	return 0, false
}

// count returns the user's live orders, and the lowest slot that none of them has.
func (m *Sale) count(s *State, u int8) (live, slot int8) {
	var used set
	for o, r := range s.db.rows {
		if r.status.live() && m.user(int8(o)) == u {
			live++
			used = used.with(r.slot)
		}
	}
	slot = 1
	for used.has(slot) {
		slot++
	}
	return live, slot
}

// insertable returns the answer of the indexes to a row for the order o.
func (m *Sale) insertable(s *State, i, o, slot int8) word {
	if s.db.rows[o].status != absent {
		return duplicate
	}
	for j, r := range s.db.rows {
		if slot > 0 && r.status.live() && m.user(int8(j)) == m.user(i) && r.slot == slot && !m.has(NoSlotIndex) {
			return again
		}
	}
	if _, found := m.answered(&s.db, i); found && !m.has(NoRequestIndex) {
		return duplicate
	}
	return okay
}

// again: the transaction is rolled back and run once more.
const again word = "again"

// commit makes the writes of the transaction of attempt i visible to all.
func (m *Sale) commit(s *State, i int8) {
	t := &s.tries[i]
	u := m.user(i)
	s.db.rows[t.order] = row{pending, t.slot, t.shard}
	if !t.untaken {
		s.db.stock--
	}
	s.db.fences[u] = max(s.db.fences[u], t.fence)
	t.tx = noTx
}

// server ends a commit whose answer was lost, in the database.
func (m *Sale) server(s State, i int8, tell func(Action, State)) {
	if s.tries[i].tx != doubtful {
		return
	}
	t := s
	m.commit(&t, i)
	m.forget(&t, i)
	tell(Action{Who: "the database", Did: "had committed the transaction of " + m.name(i)}, t)
	t = s
	t.tries[i].tx = noTx
	m.forget(&t, i)
	tell(Action{Who: "the database", Did: "had not committed the transaction of " + m.name(i)}, t)
}
