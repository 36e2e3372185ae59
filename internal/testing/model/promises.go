package model

// wrong names an act that is forbidden, and that no state shows.
type wrong uint8

const (
	releasedTooEarly wrong = iota + 1
	releasedAnothers
)

// The promises, by their ids in docs/INVARIANTS.md.
const (
	I1  = "I1"
	I2  = "I2"
	I3  = "I3"
	I4  = "I4"
	I5  = "I5"
	I6  = "I6"
	I7  = "I7"
	I8  = "I8"
	I9  = "I9"
	I10 = "I10"
)

var promises = map[string]string{
	I1:  "D + A = T and D ≥ 0",
	I2:  "A ≤ T",
	I3:  "no user has more live orders than the limit",
	I4:  "R + h + G + A = T, while Redis has lost nothing",
	I5:  "no shard is below zero",
	I6:  "the shards say sold out only when every one was seen empty",
	I7:  "a 201 is a row for ever, unless the database is set back to before it",
	I8:  "one order at most per request, and the same answer each time",
	I9:  "pending ─▶ paid | cancelled | expired, and nothing after that",
	I10: "a lease is released by its owner alone, after a known outcome",

	Stuck: "from here everything ends well, without a further fault: nothing is open, R = D",
}

// Violated names the first promise that the state breaks.
func (m *Sale) Violated(s State) string {
	n, total := m.Numbers(s), m.Units+s.db.added
	switch {
	case s.wrong != 0:
		return I10
	case n.Live > total:
		return I2
	case n.Stock+n.Live != total || n.Stock < 0:
		return I1
	case m.aboveLimit(&s):
		return I3
	case m.comparable(&s) && n.Redis+n.Held+n.Owed+n.Live != total:
		return I4
	case s.redis[0].units < 0 || s.redis[1].units < 0:
		return I5
	}
	return m.answersViolated(&s)
}

// answersViolated compares the answers that the clients got with the orders.
func (m *Sale) answersViolated(s *State) string {
	var orders [attempts]int8 // by request as the client means it
	for o, r := range s.db.rows {
		if r.status.order() {
			orders[m.intent(int8(o))]++
		}
		if s.final[o] != absent && r.status != s.final[o] {
			return I9
		}
	}
	for i := range m.wishes() {
		a := &s.tries[i]
		switch {
		case a.told && !a.undone && !s.db.rows[a.result].status.order():
			return I7
		case orders[i] > 1, a.got == voided && a.at == done && !a.undone && orders[m.intent(i)] > 0, m.toldOtherwise(s, i):
			return I8
		case a.got == soldOut && a.saw != everyShard:
			return I6
		}
	}
	return ""
}

// toldOtherwise reports whether the request of attempt i was answered before, with
// another order.
func (m *Sale) toldOtherwise(s *State, i int8) bool {
	a := &s.tries[i]
	for j := range i {
		if b := &s.tries[j]; a.told && b.told && !a.undone && !b.undone && m.intent(i) == m.intent(j) && a.result != b.result {
			return true
		}
	}
	return false
}

const everyShard set = 1<<shards - 1

func (m *Sale) aboveLimit(s *State) bool {
	for u := range int8(users) {
		if live, _ := m.count(s, u); live > m.Limit {
			return true
		}
	}
	return false
}

// comparable reports whether Redis and the database speak of the same loading, and
// nothing of it was lost.
func (m *Sale) comparable(s *State) bool {
	return !s.unsound() && !s.behind && s.db.onSale && s.loader.at == loaded
}

// AtRest reports whether nothing is open any more and Redis agrees with the database:
// h and G are 0, R = D, every 202 has become an order or a refusal, and the
// shards' account of the users' orders is true.
func (m *Sale) AtRest(s State) bool {
	n := m.Numbers(s)
	if !m.comparable(&s) || s.reconciler.at != resting || s.relays != [2]relay{} || s.raisers != [2]raiser{} {
		return false
	}
	if n.Redis != n.Stock || s.db.due != [attempts]uint8{} {
		return false
	}
	for _, sh := range s.redis {
		if sh.holds != [attempts]hold{} || sh.opens != [users]int8{} {
			return false
		}
	}
	for u := range int8(users) {
		live, _ := m.count(&s, u)
		if s.locks[u].holder != 0 || s.redis[m.Homes[u]].bought[u] != live && m.used(u) {
			return false
		}
	}
	for i := range m.wishes() {
		a := &s.tries[i]
		_, ended := m.answered(&s.db, i)
		if a.at != idle && a.at < done || a.tx != noTx || a.late.at != 0 || a.ticket && !ended {
			return false
		}
	}
	return true
}

// used reports whether the user asks for anything in this sale.
func (m *Sale) used(u int8) bool {
	for i := range m.wishes() {
		if m.user(i) == u {
			return true
		}
	}
	return false
}

// Numbers are the letters of the invariants.
type Numbers struct {
	Stock int8         // D
	Live  int8         // A
	Redis int8         // R
	Units [shards]int8 // R by shard
	Held  int8         // h: holds with a unit and without an order
	Owed  int8         // G: returns and added units that the shards do not have yet
}

// Numbers counts them.
func (m *Sale) Numbers(s State) Numbers {
	n := Numbers{Stock: s.db.stock}
	for o, r := range s.db.rows {
		if r.status.live() {
			n.Live++
		}
		if e := s.db.due[o]; e != 0 && e == s.db.epoch && !s.redis[m.home(int8(o))].returned.has(int8(o)) {
			n.Owed++
		}
	}
	for _, owed := range m.unraised(&s) {
		n.Owed += owed
	}
	for k, sh := range s.redis {
		n.Units[k] = sh.units
		n.Redis += sh.units
		for o, h := range sh.holds {
			if (h.kind == own || h.kind == lent) && !s.db.rows[o].status.order() {
				n.Held++
			}
		}
	}
	return n
}
