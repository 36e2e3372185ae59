package model

// place is the line of place.go, outcome.go and reserve.go that an attempt runs next.
type place uint8

const (
	idle          place = iota // the client has not asked
	reserving                  // RESERVE at home
	looking                    // home is empty: read all counters
	marking                    // RESERVE at home, which marks the buyer if it is still empty
	lending                    // LEND at the sibling
	unmarking                  // RELEASE of the mark
	locking                    // LOCK
	counting                   // BEGIN, fence, free slot
	inserting                  // insert the order
	taking                     // take one from the coupon
	committing                 // COMMIT
	voiding                    // the void order, after a failed COMMIT
	unlocking                  // UNLOCK
	finishing                  // CONFIRM or RELEASE where the unit came from
	finishingHome              // and at home, if that is another shard
	noting                     // write the unresolved order of an order in doubt
	recalling                  // query an earlier order of the same key
	done                       // answered
	dead                       // its instance was killed
)

// outcome is the current knowledge of an attempt, and in the end its answer.
type outcome uint8

const (
	unsure      outcome = iota
	sold                // 201
	inDoubt             // 202
	voided              // 409 for ever
	refused             // busy, limit reached, not loaded, unavailable: ask again
	soldOut             // from the shards
	soldOutInDB         // from the conditional update
	staleEpoch
	staleFence
)

// attempt is one run of place.go for a purchase request.
type attempt struct {
	at       place
	got      outcome
	epoch    uint8 // of the sale, when the attempt read it
	order    int8  // of the order for which the hold is
	shard    int8  // where the unit came from
	slot     int8
	fence    uint8
	tx       stage
	untaken  bool // the transaction lacks its unit
	result   int8 // the order of a 201, or of an unresolved order
	told     bool // the answer was 201
	saw      set  // the shards that the attempt found empty
	asked    bool // the epoch was stale once
	raised   bool // the fence was stale once
	ticket   bool // other instances can answer questions about the order in doubt
	unlocked bool
	twice    bool // its command was sent twice
	undone   bool // a rollback of the database has undone the attempt's knowledge of it
	late     call // a command still on its way
}

// attempt tells every next action of attempt i.
func (m *Sale) attempt(s State, i int8, tell func(Action, State)) {
	a := &s.tries[i]
	m.arrivals(s, i, tell)
	switch a.at {
	case idle:
		m.ask(s, i, tell)
	case reserving, marking, lending, unmarking, finishing, finishingHome:
		m.callRedis(s, i, tell)
	case looking:
		m.look(s, i, tell)
	case locking:
		m.lock(s, i, tell)
	case counting, inserting, taking, committing, voiding:
		m.transact(s, i, tell)
	case unlocking:
		m.unlock(s, i, tell)
	case noting, recalling:
		m.conclude(s, i, tell)
	case done:
		m.inquire(s, i, tell)
	default: // dead
	}
}

// ask reads the sale. The data may be old when the attempt uses them, because every other process may act in
// between. The model therefore needs no cache.
func (m *Sale) ask(s State, i int8, tell func(Action, State)) {
	a := &s.tries[i]
	said := "on sale"
	if a.epoch = s.db.epoch; s.db.onSale {
		a.at = reserving
	} else {
		said = "not loaded"
		a.at, a.got = recalling, refused
	}
	tell(Action{Who: m.name(i), Did: "asks: the sale is read", Said: said}, s)
}

// look reads all counters. If all are empty, the answer is sold out.
func (m *Sale) look(s State, i int8, tell func(Action, State)) {
	a := &s.tries[i]
	said := "a sibling has some"
	unread, some := false, false
	for k, sh := range s.redis {
		unread = unread || !sh.open
		some = some || sh.open && sh.units > 0
		if sh.open && sh.units <= 0 {
			a.saw = a.saw.with(int8(k))
		}
	}
	switch {
	case some:
		a.at, a.saw = marking, 0
	case unread:
		said, a.at, a.got = "not loaded", recalling, refused
	default:
		said, a.at, a.got = "all empty: sold out", recalling, soldOut
	}
	tell(Action{Who: m.name(i), Did: "reads all counters", Said: said}, s)
	m.lossOf("reads all counters", s, i, tell)
}

// lossOf tells that a read gets no answer. The request ends with a rejection.
func (m *Sale) lossOf(did string, s State, i int8, tell func(Action, State)) {
	if s.left.Losses == 0 {
		return
	}
	s.left.Losses--
	s.tries[i].at, s.tries[i].got, s.tries[i].saw = recalling, refused, 0
	tell(Action{Who: m.name(i), Did: did, Said: "no answer", Fault: true}, s)
}

// conclude writes the unresolved order of an order in doubt and answers. Otherwise it queries the order that
// the same key made before, and answers.
func (m *Sale) conclude(s State, i int8, tell func(Action, State)) {
	if s.tries[i].at == noting {
		m.doubt(s, i, tell)
		return
	}
	a := &s.tries[i]
	said := "none"
	o, found := m.answered(&s.db, i)
	switch {
	case a.got == voided || a.got == sold:
	case found && s.db.rows[o].status == void:
		said, a.got = "it is void", voided
	case found:
		said, a.got, a.result = "found", sold, o
	}
	// A query without an answer has the same outcome as a rejection.
	m.answer(&s, i)
	tell(Action{Who: m.name(i), Did: "looks for an earlier order and answers", Said: said}, s)
}

func (m *Sale) doubt(s State, i int8, tell func(Action, State)) {
	t := s
	t.tries[i].ticket, t.tries[i].got, t.tries[i].result = true, inDoubt, s.tries[i].order
	m.answer(&t, i)
	tell(Action{Who: m.name(i), Did: "leaves a ticket and answers", Said: "202 in doubt"}, t)
	if s.left.Losses > 0 {
		s.left.Losses--
		s.tries[i].got = inDoubt
		m.answer(&s, i)
		tell(Action{Who: m.name(i), Did: "cannot leave a ticket and answers", Said: "202 in doubt", Fault: true}, s)
	}
}

// inquire is a client that queries its order in doubt. After a while the server writes the void order for this
// query, because there may be no hold left for the reconciler to find.
func (m *Sale) inquire(s State, i int8, tell func(Action, State)) {
	a := s.tries[i]
	if _, known := m.answered(&s.db, i); known || !a.ticket || m.has(DoubtStays) || m.claimed(&s, nobody, i, a.result, 0) {
		return
	}
	s.db.rows[a.result] = row{status: void}
	tell(Action{Who: m.name(i), Did: "asks for its order in doubt: void"}, s)
}

// answer ends the attempt, except for its data in the database and Redis.
func (m *Sale) answer(s *State, i int8) {
	a := &s.tries[i]
	a.told = a.told || a.got == sold
	a.at = done
	m.forget(s, i)
}

// forget clears the fields that no longer matter when an attempt is over. States that differ in nothing else
// then become one state.
func (m *Sale) forget(s *State, i int8) {
	a := &s.tries[i]
	if a.at < done {
		return
	}
	keep := attempt{at: a.at, got: a.got, late: a.late, ticket: a.ticket, told: a.told, undone: a.undone}
	if keep.told || keep.ticket {
		keep.result = a.result
	}
	if a.got == soldOut {
		keep.saw = a.saw
	}
	if a.tx != noTx {
		keep.tx, keep.untaken, keep.order, keep.shard, keep.slot, keep.fence = a.tx, a.untaken, a.order, a.shard, a.slot, a.fence
	}
	*a = keep
}
